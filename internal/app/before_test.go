package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// An order leaves only when the attempt is on record: otherwise the one that takes over would not
// know of it. Here neither the attempt nor the lease can be written for a lease, and the server of the
// page looks the attempt up. The poll is made when the node is sure again that it decides, and has not failed.
func TestAttemptBeforeOrder(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	for _, by := range []string{"the node", "a hand"} {
		t.Run(by, func(t *testing.T) { attemptBeforeOrder(t, server, by == "a hand") })
	}
}

func attemptBeforeOrder(t *testing.T, server *pgtest.Server, elsewhere bool) {
	c := crewAt(t, server)
	made, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: c.at})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	looks := server.Connect(t, c.conn.Config().Database)
	var early, asked atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "here")
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
	// The node waits for one table and holds the other. It gives up, by its lock_timeout; this session must not.
	if _, err := held.Exec(t.Context(), "SET LOCAL deadlock_timeout = '1h'; LOCK TABLE attempts IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	s := c.settings()
	s.Limits.Hosts.CrawlDelay = 0
	store := c.poll(s, elsewhere, page.URL)
	if _, err := held.Exec(t.Context(), "LOCK TABLE leases IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "the right ends, because the lease cannot be renewed", func() bool { return store.LeaseLeft() <= 0 })
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := firstPoll(t, store); o.Result != freshet.First || o.Requests != 1 {
		t.Errorf("the poll ended as %s %s after %d requests: %s", o.Result, o.Failure, o.Requests, o.Err)
	}
	if early.Load() > 0 {
		t.Error("a request was sent whose attempt was not on record")
	}
}

// firstPoll returns how the first poll ended, when it has.
func firstPoll(t *testing.T, store *postgres.Store) (first freshet.Outcome) {
	t.Helper()
	kit.Until(t, "the first poll is over", func() bool {
		log, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(log) > 0 {
			first = log[0]
		}
		return len(log) > 0
	})
	return first
}
