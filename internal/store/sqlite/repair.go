package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"freshet/internal/filelock"
	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A Repaired is what came of a Repair.
type Repaired struct {
	Lost     []Damage `json:"lost"`     // and what was altered or guessed
	Sources  int64    `json:"sources"`  // saved
	Versions int64    `json:"versions"` // saved
	Changes  int64    `json:"changes"`  // saved
	Outcomes int64    `json:"outcomes"` // saved
}

// Repair saves what can be saved of the store in dir into a new one in the
// directory into, which must not exist or be empty. The old one is not touched.
// What is saved keeps its ids, numbers and cursors, and no number that was given
// out is given out again; what is not as it was written is dropped, and reported.
// The new store passes Check. Of cfg only Dir and Features count.
func Repair(ctx context.Context, cfg Config, into string, say func(Progress)) (r Repaired, err error) {
	if say == nil {
		say = func(Progress) {}
	}
	if left, err := os.ReadDir(into); err == nil && len(left) > 0 {
		return r, freshet.WithHint(fmt.Errorf("repair into %s: %w", into, os.ErrExist), "choose a directory that does not exist yet")
	}
	from, done, err := openDamaged(ctx, cfg, into)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	cfg = Config{Dir: into, Features: cfg.Features}
	s := newStore(cfg)
	if err := s.mendInto(ctx, from, say, &r); err != nil {
		return r, errors.Join(fault(s.path, "repairing the store", err), s.release())
	}
	if err := s.release(); err != nil {
		return r, err
	}
	return r, finishRepair(ctx, cfg, say, &r)
}

// mendInto makes a new store of the rows that can be read.
func (s *Store) mendInto(ctx context.Context, from *store.Writer, say func(Progress), r *Repaired) error {
	if err := s.enter(); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	s.lay()
	w := s.writer
	for _, pragma := range []string{"PRAGMA foreign_keys = 0", "PRAGMA user_version = 0"} {
		if _, err := w.Exec(pragma); err != nil {
			return err
		}
	}
	copying := &salvage{ctx: ctx, from: from, to: w, tables: s.schema.Tables(), say: say}
	if err := copying.run(); err != nil {
		return err
	}
	found, err := s.VerifyAll(ctx, say)
	if err != nil {
		return err
	}
	m := &mending{store.Repair{Writer: w, Lost: copying.lost}}
	err = w.Within(func() error {
		for _, step := range []func() error{
			func() error { return m.drop(found.Damages) },
			m.dropOrphans,
			func() error { return m.relink("outcomes") },
			func() error { return m.relink("changes") },
			func() error { return s.schema.Repair(&m.Repair) },
			m.keepEnds, m.restand,
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	r.Lost = m.Lost
	if err != nil {
		return err
	}
	return s.addChecksums(w, func(table string, rows int64) {
		say(Progress{Doing: "giving rows of " + table + " their checksums", Done: rows})
	})
}

// finishRepair drops the bodies that no version has, and holds the new store to
// Verify.
func finishRepair(ctx context.Context, cfg Config, say func(Progress), r *Repaired) (err error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.DropBodies(ctx); err != nil {
		return err
	}
	err = s.reader.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM sources), (SELECT count(*) FROM versions),
		(SELECT count(*) FROM changes), (SELECT count(*) FROM outcomes)`).Scan(&r.Sources, &r.Versions, &r.Changes, &r.Outcomes)
	if err != nil {
		return err
	}
	report, err := s.Verify(ctx, say)
	if err != nil {
		return err
	}
	return report.Err(s.path, mendHint(s.path))
}

// openDamaged opens the damaged store for reading. If a log lies beside it that
// is not folded in, both are copied first, because SQLite would fold it in.
func openDamaged(ctx context.Context, cfg Config, into string) (_ *store.Writer, done func() error, err error) {
	dir, path := cfg.Dir, filepath.Join(cfg.Dir, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, freshet.WithHint(fmt.Errorf("no Freshet data in %s: %w", dir, freshet.ErrNotFound), "use the directory that freshet serve uses")
	}
	var clean []func() error
	done = func() (err error) {
		for i := len(clean) - 1; i >= 0; i-- {
			err = errors.Join(err, clean[i]())
		}
		return err
	}
	if f, err := os.Open(filepath.Join(dir, lockName)); err == nil {
		clean = append(clean, f.Close)
		ours, err := filelock.Try(f)
		if err == nil && !ours {
			err = freshet.ErrBusy
		}
		if err != nil {
			return nil, nil, errors.Join(freshet.WithHint(fmt.Errorf("data directory %s: %w", dir, err), "stop the freshet process that uses it"), done())
		}
	}
	query := "immutable=1"
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		copied, err := copyFiles(path, into)
		clean = append(clean, func() error { return os.RemoveAll(filepath.Dir(copied)) })
		if err != nil {
			return nil, nil, errors.Join(fault(into, "copying the damaged store", err), done())
		}
		path, query = copied, ""
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, nil, errors.Join(fault(path, "opening the damaged store", err), done())
	}
	w := store.NewWriter(conn)
	clean = append(clean, w.Close)
	if err := sameSchema(w, path, store.NewSchema(cfg.Features)); err != nil {
		return nil, nil, errors.Join(fault(path, "opening the damaged store", err), done())
	}
	return w, done, nil
}

// sameSchema refuses a damaged store of another schema than this one.
func sameSchema(w *store.Writer, path string, schema *store.Schema) error {
	version, err := w.Number("SELECT max(version_id) FROM " + versionTable)
	if err != nil {
		return err
	}
	all, err := schema.Migrations(migrations, "sqlite")
	if err == nil && version != all[len(all)-1].Format {
		err = freshet.WithHint(fmt.Errorf("%s has data format %d, but this version of freshet repairs only format %d", path, version, all[len(all)-1].Format),
			"start freshet serve once on a copy of it, to update the format")
	}
	return err
}

// copyFiles copies a database and its log to a directory of their own. What
// cannot be read is left out.
func copyFiles(path, into string) (string, error) {
	dir := filepath.Join(into, "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return filepath.Join(dir, fileName), err
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, filepath.Join(dir, fileName+suffix)); err != nil {
			return filepath.Join(dir, fileName), err
		}
	}
	return filepath.Join(dir, fileName), nil
}

func copyFile(from, to string) (err error) {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
