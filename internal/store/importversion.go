package store

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet"
)

// ImportVersion stores a version that another program captured.
func (s *Store) ImportVersion(ctx context.Context, id freshet.SourceID, at time.Time, c freshet.Capture) error {
	newest, err := s.Versions(ctx, id, freshet.Between{}, 0, 1)
	if err != nil {
		return err
	}
	if len(newest) > 0 && !newest[0].SeenAt.Before(MomentOf(at).Time()) {
		return fmt.Errorf("source %s has a version of %s: %w", id, newest[0].SeenAt.Format(time.RFC3339), freshet.ErrConflict)
	}
	c.Quiet = freshet.QuietImported
	found, err := s.prepare(ctx, id, &c)
	if err != nil {
		return err
	}
	return s.write(ctx, "importing a version", func(b *batch) error {
		e := b.entry(id)
		switch {
		case e == nil:
			return unknown(id)
		case e.last != 0:
			return fmt.Errorf("source %s has been polled: %w", id, freshet.ErrConflict)
		}
		if err := b.advance(e, freshet.Outcome{Ended: at, Result: freshet.First}, found); err != nil {
			return err
		}
		return b.writeHead(e)
	})
}
