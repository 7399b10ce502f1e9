package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// An End is the store in a data directory at one end of a move. It implements [store.End].
type End struct{ *Store }

// OpenEnd takes the data directory cfg.Dir for this process alone, as it is. If fresh is set,
// a store is made where there is none. With cfg.ReadOnly it can only be looked at, and is not
// taken.
func OpenEnd(ctx context.Context, cfg Config, fresh bool) (_ *End, err error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cfg.Dir = dir
	s := newStore(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.find(ctx, fresh); err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	if _, err := s.inspect(); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, fault(s.path, "opening the store", err)
	}
	s.lay()
	if !cfg.ReadOnly {
		for _, pragma := range []string{"PRAGMA foreign_keys = 0", "PRAGMA cache_size = -64000"} {
			if err := run(s.writer, pragma); err != nil {
				return nil, fault(s.path, "opening the store", err)
			}
		}
	}
	return &End{s}, nil
}

// find refuses a store that is not there, unless one may be made, and one of an older format:
// to bring that up to date would change it.
func (s *Store) find(ctx context.Context, fresh bool) error {
	if fresh && !s.cfg.ReadOnly {
		return nil
	}
	if _, err := fs.Stat(s.cfg.Files, fileName); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return s.dirFault(err)
		}
		return freshet.WithHint(fmt.Errorf("no Freshet data in %s: %w", s.cfg.Dir, freshet.ErrNotFound), "use the directory that freshet serve uses")
	}
	connector, err := sqlite.NewConnector(s.dsn(true))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	return errors.Join(fault(s.path, "opening the store", s.checkSchema(ctx, db)), db.Close())
}

// Name implements [store.End].
func (e *End) Name() string { return e.cfg.Dir }

// Snapshot implements [store.End].
func (e *End) Snapshot(ctx context.Context) (*store.Writer, error) {
	w, err := (*file)(e.Store).Snapshot(ctx)
	return w, fault(e.path, "reading the store", err)
}

// Alone implements [store.End].
func (e *End) Alone(_ context.Context, do func(*store.Writer) error) error {
	return fault(e.path, "writing", e.writer.Within(func() error { return do(e.writer) }))
}

// Clear implements [store.End].
func (e *End) Clear(ctx context.Context) error {
	err := e.Alone(ctx, func(w *store.Writer) error {
		for _, t := range e.schema.Tables() {
			if err := run(w, "DELETE FROM "+t.Name); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, e.search.Drop())
}

// A transaction of Fill ends after so many rows, or bytes of bodies.
const (
	fillRows  = 20_000
	fillBytes = 16 << 20
)

// Fill implements [store.End]. Syncs that come with checkpoints are enough: a store that is
// not filled yet is filled anew.
func (e *End) Fill(_ context.Context, t store.Rows, rows iter.Seq2[[]driver.Value, error]) error {
	insertion := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.Name, strings.Join(t.Columns, ", "), strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", "))
	next, stop := iter.Pull2(rows)
	defer stop()
	if err := run(e.writer, "PRAGMA synchronous = NORMAL"); err != nil {
		return fault(e.path, "filling the store", err)
	}
	for more := true; more; {
		err := e.writer.Within(func() error {
			for count, size := 0, 0; count < fillRows && size < fillBytes; count++ {
				row, err, ok := next()
				if more = ok; !ok || err != nil {
					return err
				}
				if _, err := e.writer.Exec(insertion, row...); err != nil {
					return err
				}
				for _, v := range row {
					if body, ok := v.([]byte); ok {
						size += len(body)
					}
				}
			}
			return nil
		})
		if err != nil {
			return fault(e.path, "filling "+t.Name, err)
		}
	}
	return nil
}

// Settle implements [store.End]: all that was written is synced, and so is what follows.
func (e *End) Settle(context.Context) error {
	if err := run(e.writer, "PRAGMA synchronous = FULL"); err != nil {
		return fault(e.path, "filling the store", err)
	}
	err := e.writer.Query("PRAGMA wal_checkpoint(TRUNCATE)", nil, func([]driver.Value) error { return nil })
	return fault(e.path, "filling the store", err)
}

// settingsName is the file in the data directory with what was set while the daemon ran.
const settingsName = "settings.json"

// Settings implements [store.End].
func (e *End) Settings(context.Context) (string, error) {
	text, err := fs.ReadFile(e.cfg.Files, settingsName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), fault(e.path, "reading the settings", err)
}

// TakeSettings implements [store.End]. The file is there as a whole, or as before.
func (e *End) TakeSettings(_ context.Context, text string) error {
	f, err := os.CreateTemp(e.cfg.Dir, "settings-*")
	if err != nil {
		return fault(e.path, "keeping the settings", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(e.cfg.Dir, settingsName))
	}
	if err != nil {
		return fault(e.path, "keeping the settings", errors.Join(err, os.Remove(f.Name())))
	}
	return fault(e.path, "keeping the settings", syncDir(e.cfg.Dir))
}

// Close gives back the directory.
func (e *End) Close() error { return errors.Join(e.Release(), e.release()) }
