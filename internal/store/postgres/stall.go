package postgres

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/clock"
)

// Lines are the connections of a store. A connection over which nothing comes any more is closed:
// its caller would wait for an answer that a dead network has lost, and the system notices only if
// the machine at the other end is gone.
type lines struct {
	count clock.Count

	mu  sync.Mutex
	all map[*line]bool
}

// A line is one connection.
type line struct {
	net.Conn
	of      *lines
	backend atomic.Int64    // the process of PostgreSQL at the other end; zero while that is not known
	waits   [2]atomic.Int64 // of the count, since when something is received or sent; zero while it is not
	writes  atomic.Bool     // it is the one that writes
	bounded atomic.Bool     // PostgreSQL ends its statements when they take too long
}

func newLines() *lines { return &lines{count: clock.Begin(), all: map[*line]bool{}} }

// add takes in a connection.
func (l *lines) add(conn net.Conn) *line {
	one := &line{Conn: conn, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[one] = true
	return one
}

// Read implements [net.Conn].
func (l *line) Read(p []byte) (int, error) {
	defer l.wait(0)()
	return l.Conn.Read(p)
}

// Write implements [net.Conn].
func (l *line) Write(p []byte) (int, error) {
	defer l.wait(1)()
	return l.Conn.Write(p)
}

// wait notes that something is waited for, until the function is called.
func (l *line) wait(way int) (over func()) {
	l.waits[way].Store(int64(l.of.count.Now()) + 1)
	return func() { l.waits[way].Store(0) }
}

// Close implements [net.Conn].
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.all, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// overruled are settings that a role, a database or a server can have for other programs, and under
// which a store does not work: what is large takes its time to read, a connection may be idle, and
// a transaction sees what was committed before each of its statements.
var overruled = [][2]string{
	{"statement_timeout", "0"}, {"lock_timeout", "0"}, {"idle_session_timeout", "0"}, {"idle_in_transaction_session_timeout", "0"},
	{"default_transaction_isolation", "read committed"}, {"client_encoding", "UTF8"},
}

// meet begins with a connection. It overrules settings, unless the URL has them, and notes which
// process of PostgreSQL is at the other end: the one that it names itself may be that of a program
// in between.
func meet(ctx context.Context, on *pgx.Conn) error {
	var names, values []string
	for _, o := range overruled {
		if _, said := on.Config().RuntimeParams[o[0]]; !said {
			names, values = append(names, o[0]), append(values, o[1])
		}
	}
	var backend, done int64
	err := on.QueryRow(ctx, `SELECT pg_backend_pid(), count(set_config(s.name, o.value, false))
		FROM unnest($1::text[], $2::text[]) AS o (name, value) JOIN pg_settings s ON s.name = o.name`, names, values).Scan(&backend, &done)
	if err != nil {
		return err
	}
	if l := lineOf(on); l != nil {
		l.backend.Store(backend)
	}
	return nil
}

// lineOf returns what a connection goes over; nil if it is none of a store.
func lineOf(on *pgx.Conn) *line {
	conn := on.PgConn().Conn()
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	l, _ := conn.(*line)
	return l
}

// A silent is a connection over which something has been waited for for long.
type silent struct {
	*line
	since [2]int64 // as its waits were
}

// still reports whether the same is waited for.
func (s silent) still() bool {
	return s.waits[0].Load() == s.since[0] && s.waits[1].Load() == s.since[1]
}

// waiting returns the connections over which something has been waited for for so long, by the
// processes of PostgreSQL at their ends.
func (l *lines) waiting(long time.Duration) map[int64]silent {
	late := int64(l.count.Now() - long)
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[int64]silent{}
	for one := range l.all {
		at := one.backend.Load()
		if in, out := one.waits[0].Load(), one.waits[1].Load(); at != 0 && (0 < in && in < late || 0 < out && out < late) {
			found[at] = silent{one, [2]int64{in, out}}
		}
	}
	return found
}

// watch breaks connections over which nothing comes any more, until ctx is done. A transaction
// on one of them is then repeated, unless it was committed. It also finds out what blocks the writing
// connection.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Lease / 10) // more than once while a lock is waited for
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s.findBlockers(ctx)
		found := s.connector.lines.waiting(s.cfg.Lease)
		if len(found) == 0 {
			continue
		}
		working := s.working(ctx, found)
		for backend, one := range found {
			if slices.Contains(working, backend) || !one.still() || ctx.Err() != nil { // it may have come while that was asked
				continue
			}
			s.cfg.Log.WarnContext(ctx, "PostgreSQL does not answer; a connection is given up", "store", s.name)
			_ = one.Close() // it is broken
		}
	}
}

// leastPatience is how long a very busy server may take to accept a connection and to answer.
const leastPatience = 5 * time.Second

// working returns those processes of PostgreSQL that still execute their last statement. Those that
// have been idle for a lease have sent an answer that was lost, and those that do not end a
// statement in time hang. If PostgreSQL cannot be asked, it returns none.
func (s *Store) working(ctx context.Context, of map[int64]silent) (busy []int64) {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.Lease, leastPatience))
	defer cancel()
	var all, bounded []int64
	for backend, one := range of {
		if all = append(all, backend); one.bounded.Load() {
			bounded = append(bounded, backend)
		}
	}
	other, err := s.connector.open(ctx)
	if err != nil {
		if codeOf(err) != "" { // it answers, if only that there are too many connections already
			return all
		}
		return nil
	}
	defer other.Close()
	rows, err := other.Conn().Query(ctx, `SELECT pid FROM pg_stat_activity
		WHERE pid = ANY($1) AND (state = 'active' AND (pid <> ALL($3) OR query_start > clock_timestamp() - make_interval(secs => $4))
			OR state_change > clock_timestamp() - make_interval(secs => $2))`, all, s.cfg.Lease.Seconds(), bounded, ((longestStatement + 1) * s.cfg.Lease).Seconds())
	if err != nil {
		return nil
	}
	busy, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil
	}
	return busy
}
