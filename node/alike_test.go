package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet"
)

// Nodes are given different files by mistake. One that stands by says in what it differs from the one
// that decides, before it decides itself; one that is set up alike says nothing.
func TestNodesThatDiffer(t *testing.T) {
	c := newCrew(t)
	tokens := func(name string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(strings.Repeat(name, 40)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, other := tokens("a"), tokens("b")
	s := c.settings()
	s.Sources, s.HandToken = []freshet.Source{{ID: "a", URL: "http://127.0.0.1:1/"}}, one
	first := c.serveWith(s)
	alike := c.settings()
	alike.Sources, alike.HandToken = s.Sources, s.HandToken
	second := c.serveWith(alike)
	differs := c.settings()
	differs.Lease, differs.HandToken = 2*time.Second, other
	third := c.serveWith(differs)
	why := `it differs from the node that decides, and goes by its own when it decides itself: its lease is 2s and not ` + s.Lease.String() + `; it has another token of hands; its configuration file has other sources`
	until(t, "it is told that the third differs", func() bool {
		_, text := c.ask("", "GET", first.url+"/api/v1/cluster", "")
		return strings.Count(text, `"why":"`+why+`"`) == 1 && strings.Contains(text, `"hint":"give all nodes the same --lease`)
	})
	until(t, "the third says so", func() bool { return strings.Contains(third.log.String(), why) })
	if strings.Contains(second.log.String(), "otherwise") || strings.Contains(first.log.String(), "otherwise") {
		t.Error("a node that is set up alike says that it is not")
	}
	if said := strings.Count(third.log.String(), why); said != 1 {
		t.Errorf("the third says it %d times", said)
	}
}
