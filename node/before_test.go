package node_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"freshet/pgtest"
	"freshet/postgres"
)

// An order leaves only when the attempt is on record: otherwise the one that takes over would not
// know of it. Here the attempt cannot be written for a lease, and the server of the page looks
// it up.
func TestAttemptBeforeOrder(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	c := crewAt(t, server)
	made, err := postgres.Open(t.Context(), postgres.Config{URL: c.at})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	looks := server.Connect(t, c.conn.Config().Database)
	var early, asked atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			return // the connection is for one at a time
		}
		begun := 0
		if err := looks.QueryRow(r.Context(), "SELECT count(*) FROM attempts").Scan(&begun); err != nil {
			t.Error(err)
		} else if begun == 0 {
			early.Add(1)
		}
	}))
	defer page.Close()
	held, err := c.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), "LOCK TABLE attempts IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	s := c.settings()
	s.Limits.Hosts.CrawlDelay = 0
	right := c.poll(s, true, page.URL)
	until(t, "the right ends, because the lease is renewed with the attempt", func() bool { return right() <= 0 })
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the page is polled", func() bool { return asked.Load() > 0 })
	if early.Load() > 0 {
		t.Error("a request was sent whose attempt was not on record")
	}
}
