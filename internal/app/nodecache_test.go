package app_test

import (
	"net/http"
	"testing"
	"time"

	"freshet/internal/cluster/identity"
	"freshet/internal/test/kit"
)

// Strangers who say that they are nodes keep the leader from nothing: who is known is not looked up again
// for a lease, and does not wait behind them.
func TestStrangersHoldUpNoNode(t *testing.T) {
	c := newCrew(t)
	s := c.settings()
	s.Cluster.Lease = time.Minute // nothing is waited for that long here
	leader := c.serveWith(s)
	s = c.settings()
	s.Cluster.Lease = time.Minute
	standby := c.serveWith(s)
	add := func(id string) {
		t.Helper()
		c.wants(http.StatusCreated, "", "POST", standby.url+"/api/v1/sources", `{"id":"`+id+`","url":"http://127.0.0.1:2/`+id+`"}`)
	}
	kit.Until(t, "the leader knows the standby", func() bool {
		resp, _ := c.ask("", "POST", standby.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:2/a"}`)
		return resp.StatusCode == http.StatusCreated
	})
	held, err := c.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), "LOCK TABLE nodes"); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	for range 10 {
		go func() {
			defer func() { over <- struct{}{} }()
			req, _ := http.NewRequest(http.MethodGet, leader.url+"/api/v1/sources", nil)
			identity.NewSigner().Sign(req, leader.url, 1, nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil || resp.StatusCode != http.StatusForbidden {
				t.Errorf("a stranger gets %v, %v", resp, err)
				return
			}
			resp.Body.Close()
		}()
	}
	kit.Until(t, "a stranger is looked up", func() (waits bool) {
		if err := held.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'nodes'::regclass)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
	add("b")
	add("c")
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		<-over
	}
}
