package postgres

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// What tests hold to themselves: see driver.go.
var (
	Escape   = escape
	Unescape = unescape
	Rebind   = rebind
)

// Dial dials as stores do.
func Dial(ctx context.Context, address string, lease time.Duration) (net.Conn, error) {
	conn, err := newLines().dial((&net.Dialer{}).DialContext, lease)(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*line).Conn, nil
}

// GiveUp breaks all connections, as if nothing came over them any more.
func (p *Peers) GiveUp() {
	lines := p.store.connector.lines
	lines.mu.Lock()
	all := slices.Collect(maps.Keys(lines.all))
	lines.mu.Unlock()
	for _, one := range all {
		_ = one.Close() // as the one that watches does
	}
}

// Waiting returns a connection over another, and what finds out over it that something is waited
// for: that tells later whether the same still is.
func Waiting(over net.Conn) (_ net.Conn, found func() (still func() bool)) {
	l := newLines()
	one := l.add(over)
	one.backend.Store(1)
	return one, func() func() bool {
		for {
			if h, ok := l.waiting(-time.Hour)[1]; ok {
				return h.still
			}
		}
	}
}

// What tests hold against statements made one after the other: see merge.go.
type (
	Backlog = backlog
	Shape   = shape
)

var ShapeOf = shapeOf

// Merge queues a statement of a shape.
func (b *backlog) Merge(s *shape, values []any) { b.merge(s, values) }

// Add queues another.
func (b *backlog) Add(query string, values []any) { b.add(query, values) }

// Ready returns all that was queued as it is sent.
func (b *backlog) Ready() *pgx.Batch { b.close(); return &b.ready }

// FaultOf returns what the store makes of an error of PostgreSQL.
func FaultOf(err error) error { return (&database{Store: &Store{name: "test"}}).Fault("doing", err) }

// Settings returns some of the settings with which a store reads and writes.
func (s *Store) Settings(ctx context.Context, names ...string) (reads, writes []string, err error) {
	for _, name := range names {
		var read, write string
		if err := s.reader.QueryRowContext(ctx, "SELECT current_setting(?)", name).Scan(&read); err != nil {
			return nil, nil, err
		}
		if err := s.base.conn.Conn.Conn().QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&write); err != nil {
			return nil, nil, err
		}
		reads, writes = append(reads, read), append(writes, write)
	}
	return reads, writes, nil
}
