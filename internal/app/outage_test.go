package app_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/test/netfault"
	"freshet/internal/test/pgtest"
)

// PostgreSQL goes away and comes back, again and again, while sinks are read for and written: all
// connections break, and for a moment nobody is let in. The node waits and goes on; it does not
// end, and no supervisor has to start it again.
func TestANodeOutlivesOutagesOfTheDatabase(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	c := crewAt(t, server)
	w := c.behind(server)
	box := newMailbox(t, 5*time.Millisecond)
	pages, _ := changing(t)
	s := withSinks(c.busy(), box, 8)
	m := c.serveWith(s)
	c.watch(m.url, pages, 4)
	for range 6 {
		box.more(5)
		w.Set(netfault.State{Refuse: true})
		w.Cut()
		time.Sleep(700 * time.Millisecond)
		w.Set(netfault.State{})
	}
	box.more(20)
	m.end() // says so if it has ended by itself
	if strings.Contains(m.log.String(), "this node failed") {
		t.Error("the node did not wait, but began anew")
	}
}
