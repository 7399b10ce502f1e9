package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"freshet"
)

// Check looks through everything that is stored: the pages of the file, the
// references between rows, the hash of every version and the numbers of every
// change. It returns all that it finds wrong, each as ErrDamaged.
func (s *Store) Check(ctx context.Context) error {
	var faults []error
	found := func(format string, args ...any) { faults = append(faults, s.damaged(fmt.Sprintf(format, args...))) }
	err := eachRow(ctx, s.reader, "PRAGMA integrity_check", nil, func(scan func(...any) error) error {
		var what string
		err := scan(&what)
		if what != "ok" {
			found("%s", what)
		}
		return err
	})
	if err != nil {
		return fault(s.path, "checking the store", err)
	}
	err = eachRow(ctx, s.reader, `SELECT s.id, count(*), max(c.seq) FROM changes c JOIN sources s ON s.key = c.source
		LEFT JOIN tombstones g ON g.id = s.id
		GROUP BY c.source HAVING count(*) <> max(c.seq) - ifnull(g.change, 0) OR min(c.seq) <> 1 + ifnull(g.change, 0)`, nil, func(scan func(...any) error) error {
		var id freshet.SourceID
		var count, last int
		err := scan(&id, &count, &last)
		found("source %s has %d changes numbered up to %d", id, count, last)
		return err
	})
	if err != nil {
		return fault(s.path, "checking the changes", err)
	}
	type version struct {
		id     freshet.SourceID
		number int
	}
	var versions []version
	err = eachRow(ctx, s.reader, "SELECT s.id, v.number FROM versions v JOIN sources s ON s.key = v.source ORDER BY s.id, v.number", nil,
		func(scan func(...any) error) error {
			var v version
			err := scan(&v.id, &v.number)
			versions = append(versions, v)
			return err
		})
	if err != nil {
		return fault(s.path, "checking the versions", err)
	}
	for _, v := range versions {
		_, err := s.Text(ctx, v.id, v.number)
		if err == nil {
			_, err = s.Raw(ctx, v.id, v.number)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, freshet.ErrNotFound):
			if _, err := s.Version(ctx, v.id, v.number); err == nil { // not pruned meanwhile
				found("version %d of source %s has lost a body", v.number, v.id)
			}
		case err != nil:
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Backup writes a copy of the store as it is at one moment to a new file,
// while the store is in use. The copy can be put in the place of freshet.db.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return freshet.WithHint(fmt.Errorf("backup to %s: %w", path, os.ErrExist), "name a file that does not exist yet")
	}
	if _, err := s.reader.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return errors.Join(fault(path, "writing a backup", err), removed(path))
	}
	return nil
}

// removed deletes a file that may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// A Size is how much room a store takes.
type Size struct {
	File   int64 // bytes of the files
	Bodies int64 // bytes of stored bodies, as compressed
	Full   int64 // bytes of the same bodies, as they were received
}

// Size measures the store. It reads a good part of the file.
func (s *Store) Size(ctx context.Context) (size Size, err error) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := fs.Stat(s.cfg.Files, fileName+suffix); err == nil {
			size.File += info.Size()
		}
	}
	err = s.reader.QueryRowContext(ctx, "SELECT ifnull(sum(length(frame)), 0), ifnull(sum(size), 0) FROM bodies").Scan(&size.Bodies, &size.Full)
	return size, fault(s.path, "measuring the store", err)
}
