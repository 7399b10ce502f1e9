package sqlite

import (
	"context"
	"errors"

	"freshet/internal/store"
)

// Verify looks through everything that is stored in cfg.Dir, as Store.Verify
// does. It is for stores that another process may be writing, and for those that
// are too damaged to be opened.
func Verify(ctx context.Context, cfg Config, say func(Progress)) (r Report, err error) {
	cfg.ReadOnly = true
	s := newStore(cfg)
	defer func() { err = errors.Join(err, s.release()) }()
	if err := s.enter(); err != nil {
		return r, err
	}
	if _, err := s.inspect(); err != nil {
		return r, err
	}
	if err := s.connect(ctx); err != nil {
		return r, fault(s.path, "opening the store", err)
	}
	s.lay()
	return s.Verify(ctx, say)
}

// closed closes a connection after an error.
func closed(w *store.Writer, err error) error { return errors.Join(err, w.Close()) }
