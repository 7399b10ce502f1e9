package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// longestStatement is how many leases a statement of the writer may take. Nothing is polled
// meanwhile. A process of PostgreSQL that takes longer than its timeout hangs.
const longestStatement = 12

// bound has PostgreSQL end statements of the connection that writes if they take too long.
func (d *database) bound(ctx context.Context, c *conn) error {
	if l := lineOf(c.Conn.Conn()); l != nil {
		l.bounded.Store(true)
	}
	return atMost(ctx, c, "statement_timeout", longestStatement*d.cfg.Lease)
}

// atMost sets a limit of a connection, unless the URL has a shorter one.
func atMost(ctx context.Context, c *conn, name string, limit time.Duration) error {
	_, err := c.Conn.Conn().Exec(ctx, `SELECT set_config(name, $2::bigint::text, false) FROM pg_settings
		WHERE name = $1 AND setting::bigint NOT BETWEEN 1 AND $2`, name, max(1, limit.Milliseconds()))
	return err
}

// A lockHolder is a process of PostgreSQL that holds a lock which the one that writes waits for.
type lockHolder struct {
	pid                      int64
	application, user, state string
	since                    string // when its transaction began, in PostgreSQL's words
	query                    string // which may be of anybody, and is only for the log
}

func (h lockHolder) String() string {
	if h.pid == 0 {
		return "a prepared transaction"
	}
	said := fmt.Sprintf("process %d of PostgreSQL (application %q, user %q", h.pid, h.application, h.user)
	if h.state != "" {
		said += ", " + h.state
	}
	if h.since != "" {
		said += ", in a transaction since " + h.since
	}
	return said + ")"
}

// findBlockers finds out what the connection that writes waits for, if it has waited for some time.
// PostgreSQL cannot always be asked; then it is asked again later.
func (s *Store) findBlockers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.Lease, leastPatience))
	defer cancel()
	for backend, one := range s.connector.lines.waiting(s.cfg.Lease / 10) {
		if !one.writes.Load() {
			continue
		}
		other, err := s.connector.open(ctx)
		if err != nil {
			return
		}
		table, found, err := blockersOf(ctx, other.Conn(), backend)
		_ = other.Close() // it has answered what it could
		if err != nil || len(found) == 0 {
			return
		}
		var names, queries []string
		for _, h := range found {
			names, queries = append(names, h.String()), append(queries, h.query)
		}
		s.base.noteBlocked(ctx, fmt.Sprintf("a lock on %s is held by %s", table, strings.Join(names, " and ")), "queries", queries)
	}
}

// blockersOf returns what holds the lock that a process waits for, and of which table it is.
func blockersOf(ctx context.Context, on *pgx.Conn, backend int64) (table string, found []lockHolder, err error) {
	rows, err := on.Query(ctx, `SELECT coalesce((SELECT relation::regclass::text FROM pg_locks WHERE pid = $1 AND relation IS NOT NULL ORDER BY granted, locktype = 'tuple' DESC LIMIT 1), 'a row'),
			b.pid, coalesce(a.application_name, ''), coalesce(a.usename::text, ''), coalesce(a.state, ''),
			coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ''), left(coalesce(a.query, ''), 200)
		FROM (SELECT DISTINCT unnest(pg_blocking_pids($1::int)) AS pid) b LEFT JOIN pg_stat_activity a ON a.pid = b.pid ORDER BY b.pid`, backend)
	if err != nil {
		return "", nil, err
	}
	found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h lockHolder, err error) {
		return h, row.Scan(&table, &h.pid, &h.application, &h.user, &h.state, &h.since, &h.query)
	})
	return table, found, err
}

// noteBlocked notes what a transaction waits for, which is logged once.
func (d *database) noteBlocked(ctx context.Context, by string, more ...any) {
	d.blockedAt.Store(int64(d.count.Now()))
	if was := d.blocked.Swap(&by); was == nil || *was != by {
		d.cfg.Log.WarnContext(ctx, "PostgreSQL has the leader wait for a lock", append([]any{"blocker", by, "store", d.name}, more...)...)
	}
}

// noteCommitted notes that a transaction was committed. It may be one that did not need the lock:
// those that do are tried again every few seconds.
func (d *database) noteCommitted(ctx context.Context) {
	if d.blocked.Load() == nil || d.count.Now()-time.Duration(d.blockedAt.Load()) < max(2*d.cfg.Lease, 10*time.Second) {
		return
	}
	if d.blocked.Swap(nil) != nil {
		d.cfg.Log.InfoContext(ctx, "PostgreSQL has the leader wait for no lock any more", "store", d.name)
	}
}

// Trouble returns why nothing can be written, if the lease has run out; "" if it has not.
func (s *Store) Trouble() string {
	left := s.LeaseLeft()
	if left > 0 {
		return ""
	}
	why := fmt.Sprintf("the lease ran out %s ago, and PostgreSQL has confirmed nothing since", (-left).Round(100*time.Millisecond))
	if who := s.base.blocked.Load(); who != nil {
		why += ": " + *who
	}
	return why
}
