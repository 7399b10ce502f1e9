package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"freshet/internal/freshet"
)

// checkedBytes is the size up to which a database is looked through when it
// was not closed. A larger one would hold up the start; SQLite finds damage
// there when it reads it, and Check looks through all of it.
const checkedBytes = 64 << 20

// inspect looks at the files before SQLite does, because it would take an
// empty file for a new database. It reports whether the store was not closed
// the last time.
func (s *Store) inspect() (unclean bool, err error) {
	f, err := s.cfg.Files.Open(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		if s.cfg.ReadOnly {
			return false, freshet.WithHint(fmt.Errorf("no Freshet data in %s: %w", s.cfg.Dir, freshet.ErrNotFound), "use the directory that freshet serve uses")
		}
		return false, nil
	}
	if err != nil {
		return false, fault(s.path, "opening the store", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fault(s.path, "opening the store", err)
	}
	log, err := fs.Stat(s.cfg.Files, fileName+"-wal")
	unclean = err == nil && log.Size() > 0 && !s.cfg.ReadOnly
	if info.Size() == 0 {
		return unclean, nil // made, and never written to
	}
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte("SQLite format 3\x00")) {
		return false, freshet.WithHint(fmt.Errorf("%s: %w: it is not a database", s.path, freshet.ErrDamaged), mendHint(s.path))
	}
	return unclean && info.Size() <= checkedBytes, nil
}

// checkQuickly looks for pages that are not as they should be.
func (s *Store) checkQuickly(ctx context.Context) error {
	var found string
	if err := s.reader.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fault(s.path, "checking the store", err)
	}
	if found != "ok" {
		return freshet.WithHint(fmt.Errorf("%s: %w: %s", s.path, freshet.ErrDamaged, found), mendHint(s.path))
	}
	return nil
}
