package postgres

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// channel is where those who only read hear that something was written. The schema is its
// payload: several stores can be in one database.
const channel = "freshet"

const (
	notifyEvery = 50 * time.Millisecond // at most so often
	lookEvery   = time.Second           // at least so often, whatever was heard
)

// notify tells others within the transaction that something is written.
func (d *database) notify() error {
	now := time.Now()
	if now.Sub(d.told) < notifyEvery {
		return nil
	}
	d.told = now
	return d.conn.send("SELECT pg_notify('"+channel+"', current_schema())", nil)
}

// listen hears of what others write, until ctx is done.
func (s *Store) listen(ctx context.Context) {
	deaf := &trouble{log: s.cfg.Log, level: slog.LevelWarn, begun: "changes are not heard of for now; it is tried again", over: "changes are heard of again"}
	for ctx.Err() == nil {
		if err := s.hear(ctx, deaf); ctx.Err() == nil {
			deaf.tell(ctx, s.base.Fault("hearing of changes", err))
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// hear listens on a connection of its own, for as long as that lasts.
func (s *Store) hear(ctx context.Context, deaf *trouble) error {
	one, err := s.connector.Connect(ctx)
	if err != nil {
		return err
	}
	c := one.(*conn)
	defer c.Close()
	if _, err := c.Conn.Conn().Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	var read time.Time
	for {
		refresh := s.Heard
		if time.Since(read) >= lookEvery {
			refresh, read = s.Refresh, time.Now()
		}
		if err := s.refresh(ctx, refresh); err != nil {
			return err
		}
		deaf.tell(ctx, nil)
		if err := waitFor(ctx, c.Conn.Conn()); err != nil {
			return err
		}
	}
}

// refresh reads what is new. It is tried again if that takes very long, because the connection
// may be dead.
func (s *Store) refresh(ctx context.Context, refresh func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, max(10*time.Second, 2*s.cfg.Lease))
	defer cancel()
	return refresh(ctx)
}

// waitFor returns when something was heard, or it is time to look.
func waitFor(ctx context.Context, on *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	_, err := on.WaitForNotification(waiting)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil && !on.IsClosed() {
		return nil
	}
	return err
}

// isConnectError reports whether the server could not be reached, or has ended the connection.
func isConnectError(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	if code := codeOf(err); strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P") { // broken, or shut down
		return true
	}
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}
