//go:build unix

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/fetch"
)

// lockedTable locks a table that polls are recorded in as CREATE INDEX does, for a while. The leader
// has to name who did it.
func lockedTable(ctx context.Context, g *grove, chance *rand.Rand) error {
	g.mu.Lock() // PostgreSQL stays
	defer g.mu.Unlock()
	conn, err := pgx.Connect(ctx, g.primary.URL(g.database))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which ends the transaction
	if _, err := conn.Exec(ctx, "SET lock_timeout = '10s'"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	table := some(chance, []string{"attempts", "outcomes", "leases"})
	if _, err := conn.Exec(ctx, "LOCK TABLE "+table+" IN SHARE MODE"); err != nil {
		return nil // a process that hangs holds it
	}
	whole := g.diary.note("table %s locked", table)
	from, blocker := time.Now(), fmt.Sprintf("process %d of PostgreSQL", conn.PgConn().PID())
	pause(ctx, stallFor(chance))
	locked := stretch{from, time.Now()}
	alone := len(g.diary.within(locked)) == 1
	whole()
	if alone && ctx.Err() == nil && locked.to.Sub(locked.from) > 3*clusterLease && !g.said(blocker) {
		g.report.violate("evidence: table %s was locked for %s, and no node has named the process that did it", table, locked.to.Sub(locked.from).Round(time.Second))
	}
	return nil
}

// stallFor draws for how long PostgreSQL stalls: for some leases, or for longer than nodes may say that
// they are ready.
func stallFor(chance *rand.Rand) time.Duration {
	d := time.Duration(chance.Int64N(int64(4 * clusterLease)))
	if chance.IntN(4) == 0 {
		d += blindFor
	}
	return d
}

// said reports whether a node has logged something lately.
func (g *grove) said(what string) bool {
	return slices.ContainsFunc(g.nodes, func(p *proc) bool { return strings.Contains(p.log.String(), what) })
}

// hungBackend stops a process of PostgreSQL that serves a node for a while.
func hungBackend(ctx context.Context, g *grove, chance *rand.Rand) error {
	g.mu.Lock() // PostgreSQL stays
	defer g.mu.Unlock()
	conn, err := pgx.Connect(ctx, g.primary.URL(g.database))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'freshet' ORDER BY pid")
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(all) == 0 {
		return err
	}
	pid := some(chance, all)
	defer g.diary.note("process %d of PostgreSQL hung", pid)()
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return nil // it has ended
	}
	pause(ctx, stallFor(chance))
	_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been ended
	return nil
}

// blindFor is for how long nothing may be polled while every node says that it is ready: an election,
// a start, and a busy machine.
const blindFor = 3*clusterLease + 6*time.Second

// probe asks all nodes all along whether they are ready, until ctx is done. They must not all say so
// while nothing is polled.
func (g *grove) probe(ctx context.Context) {
	ask := fetch.Trusted(time.Second).Do
	var since time.Time // from when on all that answer have been ready, although nothing is polled
	for ctx.Err() == nil {
		pause(ctx, 250*time.Millisecond)
		last := g.visits.last()
		if last.IsZero() || time.Since(last) < blindFor || !g.allReady(ctx, ask) {
			since = time.Time{}
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if ctx.Err() == nil && time.Since(since) > 3*time.Second {
			g.report.violate("readiness: nothing has been polled for %s, and every node that answers is ready", time.Since(last).Round(time.Second))
			since = time.Time{}
		}
	}
}

// allReady reports whether some node answers and all that do are ready.
func (g *grove) allReady(ctx context.Context, ask func(*http.Request) (*http.Response, error)) bool {
	ready := 0
	for _, p := range g.nodes {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at+"/readyz", nil)
		if err != nil {
			return false
		}
		resp, err := ask(req)
		if err != nil {
			continue
		}
		_ = resp.Body.Close() // there is a line in it
		if resp.StatusCode != http.StatusOK {
			return false
		}
		ready++
	}
	return ready > 0
}
