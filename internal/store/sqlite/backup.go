package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// Backup writes a copy of the store as it is at one moment to a new file,
// while the store is in use. The copy can be put in the place of freshet.db.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err == nil {
		return freshet.WithHint(fmt.Errorf("backup to %s: %w", path, os.ErrExist), "choose a file that does not exist yet")
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

// Size measures the store. It reads a good part of the file.
func (s *Store) Size(ctx context.Context) (size store.Size, err error) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := fs.Stat(s.cfg.Files, fileName+suffix); err == nil {
			size.File += info.Size()
		}
	}
	err = s.reader.QueryRowContext(ctx, "SELECT ifnull(sum(length(frame)), 0), ifnull(sum(size), 0) FROM bodies").Scan(&size.Bodies, &size.Full)
	return size, fault(s.path, "measuring the store", err)
}
