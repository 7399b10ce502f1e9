//go:build unix

package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
	"freshet/internal/test/pgtest"
)

// A stalled crew is a leader and a standby that watch a page.
type stalledCrew struct {
	*crew
	leader, standby *member
	requests        atomic.Int64
	other           *pgx.Conn // of somebody
}

func newStalledCrew(t *testing.T) *stalledCrew {
	c := &stalledCrew{crew: newCrew(t)}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, "edition %d", c.requests.Add(1))
	}))
	t.Cleanup(page.Close)
	at, err := url.Parse(c.at)
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	q.Set("application_name", "somebody")
	at.RawQuery = q.Encode()
	if c.other, err = pgx.Connect(t.Context(), at.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.other.Close(context.Background()) }) // the server may have closed it
	c.leader = c.serveWith(c.busy())
	c.standby = c.serveWith(c.busy())
	for i := range 4 {
		c.wants(http.StatusCreated, "", "POST", c.leader.url+"/api/v1/sources", fmt.Sprintf(`{"id":"p%d","url":"%s/p%d"}`, i, page.URL, i))
	}
	c.polls("at first")
	c.ready(c.leader)
	c.ready(c.standby)
	return c
}

// polls waits until a few more polls are made.
func (c *stalledCrew) polls(when string) {
	c.Helper()
	before := c.requests.Load()
	kit.Until(c.T, "polls are made "+when, func() bool { return c.requests.Load() >= before+3 })
}

func (c *stalledCrew) ready(m *member) {
	c.Helper()
	kit.Until(c.T, m.url+" is ready", func() bool {
		resp, _ := c.ask("", "GET", m.url+"/readyz", "")
		return resp.StatusCode == http.StatusOK
	})
}

// unready waits until a node is not ready, for a reason with words in it.
func (c *crew) unready(m *member, words ...string) {
	c.Helper()
	kit.Until(c.T, fmt.Sprintf("%s is not ready: %q", m.url, words), func() bool {
		resp, text := c.ask("", "GET", m.url+"/readyz", "")
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return resp.StatusCode == http.StatusServiceUnavailable
	})
}

// shows waits until the metrics of a node have a line.
func (c *crew) shows(m *member, line string) {
	c.Helper()
	kit.Until(c.T, m.url+" shows "+line, func() bool {
		_, text := c.ask("", "GET", m.url+"/metrics", "")
		return strings.Contains(text, "\n"+line+"\n")
	})
}

// metric returns the value of a metric of a node.
func (c *crew) metric(m *member, name string) (value float64) {
	_, text := c.ask("", "GET", m.url+"/metrics", "")
	if _, after, ok := strings.Cut(text, "\n"+name+" "); ok {
		_, _ = fmt.Sscan(after, &value)
	}
	return value
}

// lock has somebody lock a table as CREATE INDEX does, until the function is called.
func (c *stalledCrew) lock(table string) (unlock func()) {
	c.Helper()
	do := func(query string) {
		if _, err := c.other.Exec(c.Context(), query); err != nil {
			c.Fatal(err)
		}
	}
	do("BEGIN")
	do("LOCK TABLE " + table + " IN SHARE MODE")
	return func() { do("COMMIT") }
}

// once ends the nodes, and wants every request to be on record, each in one outcome or as the
// attempt of a poll that was cut off.
func (c *stalledCrew) once() {
	c.Helper()
	c.standby.end()
	c.leader.end()
	var outcomes, requests, numbers int64
	err := c.conn.QueryRow(context.Background(), "SELECT count(*), coalesce(sum(requests), 0), coalesce(max(cursor), 0) FROM outcomes WHERE result <> 3").Scan(&outcomes, &requests, &numbers)
	if err != nil {
		c.Fatal(err)
	}
	if made := c.requests.Load(); outcomes != made {
		c.Errorf("%d requests were made and %d outcomes are on record (%d requests, up to cursor %d)", made, outcomes, requests, numbers)
	}
}

// Somebody locks a table that every poll is recorded in. The leader keeps its lease and says that it
// is not ready, and who holds the lock: in its log, in its status and in that of the cluster.
// When the table is free polling goes on, and every request is on record once.
func TestATableIsLocked(t *testing.T) {
	c := newStalledCrew(t)
	unlock := c.lock("attempts")
	blocker := fmt.Sprintf("process %d of PostgreSQL (application \"somebody\"", c.other.PgConn().PID())
	c.unready(c.leader, blocker, "attempts")
	c.shows(c.leader, "freshet_ready 0")
	kit.Until(t, "late grows", func() bool {
		return c.metric(c.leader, "freshet_late_seconds") > 2*crewLease.Seconds() && c.metric(c.leader, "freshet_store_wait_seconds") > 2*crewLease.Seconds()
	})
	kit.Until(t, "the standby shows what keeps the leader", func() bool {
		_, text := c.ask("", "GET", c.standby.url+"/api/v1/cluster", "")
		return strings.Contains(text, "somebody")
	})
	if got := c.metric(c.leader, "freshet_cluster_brain"); got != 1 {
		t.Errorf("freshet_cluster_brain is %v: the lease is lost, although another node could do nothing either", got)
	}
	if text := c.leader.log.String(); !strings.Contains(text, `level=WARN msg="PostgreSQL has the leader wait for a lock"`) || !strings.Contains(text, "LOCK TABLE attempts") {
		t.Errorf("the log does not name the blocker:\n%s", text)
	}
	unlock()
	c.polls("after the lock")
	c.ready(c.leader)
	c.shows(c.leader, "freshet_ready 1")
	c.once()
}

// A process of PostgreSQL hangs that holds the row of the lease. No node can lead, and all say so. When
// it goes on so does polling.
func TestABackendHangs(t *testing.T) {
	c := newStalledCrew(t)
	unlock := c.lock("attempts")
	var pid int // waits for the lock in a transaction that has updated the lease
	kit.Until(t, "the leader waits", func() bool {
		return c.conn.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)) LIMIT 1", int(c.other.PgConn().PID())).Scan(&pid) == nil
	})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume := func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // it may have ended
	defer resume()
	unlock()
	blocker := fmt.Sprintf("process %d of PostgreSQL (application \"freshet\"", pid)
	c.unready(c.leader, "the lease ran out")
	c.shows(c.leader, "freshet_cluster_brain 0")
	c.unready(c.standby, "there has been no leader", blocker, "leases")
	c.shows(c.standby, "freshet_ready 0")
	resume()
	c.polls("after the hang")
	c.ready(c.leader)
	c.ready(c.standby)
	c.once()
}

// A standby that cannot reach PostgreSQL answers nothing, and says so. When it can again it is ready.
func TestAStandbyIsCutOffFromTheDatabase(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	c := &stalledCrew{crew: crewAt(t, server)}
	c.leader = c.serve()
	wire := c.behind(server)
	c.standby = c.serve()
	c.ready(c.standby)
	for _, state := range []netfault.State{netfault.Dead, {Refuse: true}} {
		wire.Set(state)
		if state.Refuse {
			wire.Cut()
		}
		c.unready(c.standby) // it cannot tell to whom it could say why
		c.ready(c.leader)
		wire.Set(netfault.State{})
		c.ready(c.standby)
	}
}
