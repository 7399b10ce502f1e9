package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver

	"freshet"
)

// searchName is the file with the index of what versions say. It lies beside the store
// and not in it: it is derived, so it needs neither checksums nor backups, its writes are
// no part of a poll's transaction, and it can be deleted at any time.
const searchName = "search.db"

// searchLayout is that of the index; one with another layout is made anew.
const searchLayout = 1

// A passage is a line or a sentence that versions of a source have, one after the other:
// from one on until another, if that has come. So a text that stays is in the index once,
// however many versions have it. What the words of a passage are is in the store alone.
//
// Of each source the passages that are there now are known together, each by its hash and
// its ID: a new version is compared with them without reading any row of theirs.
const searchSchema = `
	CREATE TABLE place (id INTEGER PRIMARY KEY CHECK (id = 1), upto TEXT NOT NULL);
	CREATE TABLE sources (key INTEGER PRIMARY KEY, upto INTEGER NOT NULL, first INTEGER NOT NULL, present BLOB NOT NULL);
	CREATE TABLE passages (
		id     INTEGER PRIMARY KEY,
		source INTEGER NOT NULL,
		sum    INTEGER NOT NULL, -- XXH64 of its text
		first  INTEGER NOT NULL, -- version
		gone   INTEGER,          -- the first version without it
		since  INTEGER NOT NULL, -- when those were seen
		until  INTEGER
	);
	CREATE INDEX passages_by_source ON passages (source, gone);
	CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
`

// A searchIndex is the index of what versions say.
type searchIndex struct {
	work sync.Mutex   // held by who writes
	file sync.RWMutex // held to use the file, and alone to open it or put another in its place
	db   *sql.DB      // nil until it is wanted
	last int64        // ID of a passage

	mu    sync.Mutex
	known bool              // what waits is known
	waits map[int64]waiting // sources that have something to index or to take out, by key
}

// A waiting source has versions that are not in the index yet, or is there no more.
type waiting struct {
	id   freshet.SourceID
	upto int64 // the last version that is in the index
}

// note notes what a batch did to a source, as far as it concerns the index.
func (x *searchIndex) note(old, now *entry) {
	same := old != nil && now != nil && old.key == now.key
	if same && old.head == now.head && old.first == now.first {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known {
		return // all will be looked at
	}
	if old != nil && old.head > 0 {
		x.add(old.key, waiting{old.id, old.head})
	}
	if now != nil && now.head > 0 && (old == nil || old.key != now.key || old.head == 0) {
		x.add(now.key, waiting{now.id, 0})
	}
}

// add notes that a source has something to index.
func (x *searchIndex) add(key int64, w waiting) {
	if before, ok := x.waits[key]; ok {
		w.upto = min(w.upto, before.upto)
	}
	x.waits[key] = w
}

// searchPath returns where the index lies.
func (s *Store) searchPath() string { return filepath.Join(s.cfg.Dir, searchName) }

// useSearch opens the index if it is not open yet, and returns what to call when it is not
// used any more.
func (s *Store) useSearch(ctx context.Context) (release func(), err error) {
	x := &s.index
	for {
		x.file.RLock()
		if x.db != nil {
			return x.file.RUnlock, nil
		}
		x.file.RUnlock()
		x.file.Lock()
		err := s.openSearch(ctx)
		x.file.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// openSearch opens the index, and makes it if there is none, or none that this program
// can use. The caller holds it alone.
func (s *Store) openSearch(ctx context.Context) error {
	x := &s.index
	if x.db != nil {
		return nil
	}
	if s.cfg.ReadOnly {
		if _, err := fs.Stat(s.cfg.Files, searchName); err != nil {
			return freshet.WithHint(fmt.Errorf("the index of versions: %w", freshet.ErrNotFound), "freshet serve makes it while it runs, unless search is off")
		}
	}
	if !s.cfg.ReadOnly && s.cfg.VFS == "" { // nobody else reads it, like the store
		f, err := os.OpenFile(s.searchPath(), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	q := url.Values{"_busy_timeout": {"10000"}}
	if s.cfg.ReadOnly {
		q.Set("mode", "ro")
	} else {
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "NORMAL")
		q.Add("_pragma", "journal_size_limit(16777216)")
	}
	if s.cfg.VFS != "" {
		q.Set("vfs", s.cfg.VFS)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(s.searchPath()), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(3)
	x.db = db
	if err := s.fitSearch(ctx); err != nil {
		x.db = nil
		return errors.Join(err, db.Close())
	}
	return nil
}

// fitSearch makes the tables of a new index.
func (s *Store) fitSearch(ctx context.Context) error {
	var layout int
	if err := s.index.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&layout); err != nil {
		return err
	}
	switch {
	case layout == searchLayout:
	case s.cfg.ReadOnly:
		return freshet.WithHint(fmt.Errorf("the index of versions has another layout: %w", freshet.ErrNotFound), "freshet serve makes it anew while it runs")
	case layout != 0:
		return errStaleIndex
	default:
		if _, err := s.index.db.ExecContext(ctx, fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", searchSchema, searchLayout)); err != nil {
			return err
		}
	}
	return s.index.db.QueryRowContext(ctx, "SELECT ifnull(max(id), 0) FROM passages").Scan(&s.index.last)
}

// errStaleIndex means that the index is of another layout, or of versions that are not
// those of the store.
var errStaleIndex = errors.New("the index is not that of this data")

// unusable reports whether an index has to be made anew.
func unusable(err error) bool {
	return errors.Is(err, errStaleIndex) || errors.Is(fault("", "", err), freshet.ErrDamaged)
}

// DropIndex deletes the index of what versions say. It is made anew when it is wanted.
func (s *Store) DropIndex() error {
	s.index.file.Lock()
	defer s.index.file.Unlock()
	return s.dropSearch()
}

// dropSearch is DropIndex for who holds the index alone.
func (s *Store) dropSearch() error {
	err := s.closeSearch()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err = errors.Join(err, removed(s.searchPath()+suffix))
	}
	return err
}

// closeSearch closes the index, if it is open. The caller holds it alone.
func (s *Store) closeSearch() error {
	x := &s.index
	x.mu.Lock()
	x.known, x.waits = false, nil
	x.mu.Unlock()
	if x.db == nil {
		return nil
	}
	err := x.db.Close()
	x.db = nil
	return err
}

// SearchSize returns how many bytes the index takes.
func (s *Store) SearchSize() (size int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.searchPath() + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}
