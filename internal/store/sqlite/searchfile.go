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

	"modernc.org/sqlite"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// searchName is the file with the index of what versions say. It lies beside the store
// and not in it: it is derived, so it needs neither checksums nor backups, its writes are
// no part of a poll's transaction, and it can be deleted at any time.
const searchName = "search.db"

// searchLayout is that of the index; one with another layout is made anew.
const searchLayout = 3

// searchSchema makes the tables of the index: see [store.Index].
const searchSchema = `
	CREATE TABLE place (id INTEGER PRIMARY KEY CHECK (id = 1), upto TEXT NOT NULL, passages INTEGER NOT NULL, words INTEGER NOT NULL);
	CREATE TABLE sources (key INTEGER PRIMARY KEY, upto INTEGER NOT NULL, first INTEGER NOT NULL, present BLOB NOT NULL);
	CREATE TABLE blocks (
		id       INTEGER PRIMARY KEY,
		source   INTEGER NOT NULL,
		ended    INTEGER, -- the first version without one of its passages
		passages BLOB NOT NULL
	);
	CREATE INDEX blocks_by_source ON blocks (source);
	CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB NOT NULL); -- of blocks; apart, because they do not change
	CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
`

// A searchFile is the file with the index. It implements [store.Index].
type searchFile struct {
	cfg  Config
	file sync.RWMutex // held to use the file, and alone to open it or put another in its place
	db   *sql.DB      // nil until it is wanted

	// These belong to who writes: see [store.Index].
	writer *store.Writer
	last   int64 // ID of a block
	all    collection
}

// path returns where the index lies.
func (x *searchFile) path() string { return filepath.Join(x.cfg.Dir, searchName) }

// Use implements [store.Index].
func (x *searchFile) Use(ctx context.Context) (release func(), err error) {
	for {
		x.file.RLock()
		if x.db != nil {
			return x.file.RUnlock, nil
		}
		x.file.RUnlock()
		x.file.Lock()
		err := x.open(ctx)
		x.file.Unlock()
		if err != nil {
			return nil, x.judged(err)
		}
	}
}

// judged returns an error of the index as [store.ErrStaleIndex] if it has to be made anew.
func (x *searchFile) judged(err error) error {
	if err == nil || errors.Is(err, store.ErrStaleIndex) {
		return err
	}
	said := fault(x.path(), "using the index of versions", err)
	if errors.Is(said, freshet.ErrDamaged) {
		return fmt.Errorf("%w: %w", store.ErrStaleIndex, said)
	}
	return said
}

// open opens the index, and makes it if there is none, or none that this program
// can use. The caller holds it alone.
func (x *searchFile) open(ctx context.Context) error {
	if x.db != nil {
		return nil
	}
	if x.cfg.ReadOnly {
		if _, err := fs.Stat(x.cfg.Files, searchName); err != nil {
			return freshet.WithHint(fmt.Errorf("the index of versions: %w", freshet.ErrNotFound), "freshet serve makes it while it runs, unless search is off")
		}
	}
	if !x.cfg.ReadOnly && x.cfg.VFS == "" { // nobody else reads it, like the store
		f, err := os.OpenFile(x.path(), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	q := url.Values{"_busy_timeout": {"10000"}}
	if x.cfg.ReadOnly {
		q.Set("mode", "ro")
	} else {
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "NORMAL")
		q.Add("_pragma", "journal_size_limit(16777216)")
		q.Add("_pragma", "wal_autocheckpoint(4000)") // pages; those that several transactions change are copied once
		q.Add("_pragma", "secure_delete(1)")
	}
	if x.cfg.VFS != "" {
		q.Set("vfs", x.cfg.VFS)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(x.path()), RawQuery: q.Encode()}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return err
	}
	x.db = sql.OpenDB(connector)
	x.db.SetMaxOpenConns(2)
	if err := x.fit(ctx); err != nil {
		return errors.Join(err, x.shut())
	}
	if x.cfg.ReadOnly {
		return nil
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return errors.Join(err, x.shut())
	}
	x.writer = store.NewWriter(conn)
	return nil
}

// fit makes the tables of a new index.
func (x *searchFile) fit(ctx context.Context) error {
	var layout int
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&layout); err != nil {
		return err
	}
	switch {
	case layout == searchLayout:
	case x.cfg.ReadOnly:
		return freshet.WithHint(fmt.Errorf("the index of versions has another layout: %w", freshet.ErrNotFound), "freshet serve makes it anew while it runs")
	case layout != 0:
		return store.ErrStaleIndex
	default:
		if _, err := x.db.ExecContext(ctx, fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", searchSchema, searchLayout)); err != nil {
			return err
		}
	}
	return x.db.QueryRowContext(ctx, "SELECT (SELECT ifnull(max(id), 0) FROM blocks), ifnull(max(passages), 0), ifnull(max(words), 0) FROM place").Scan(&x.last, &x.all.passages, &x.all.words)
}

// Drop implements [store.Index].
func (x *searchFile) Drop() error {
	err := x.close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err = errors.Join(err, removed(x.path()+suffix))
	}
	return err
}

// close closes the index, if it is open.
func (x *searchFile) close() error {
	x.file.Lock()
	defer x.file.Unlock()
	if x.db == nil {
		return nil
	}
	return x.shut()
}

// shut closes the connections. The caller holds the file alone.
func (x *searchFile) shut() error {
	err := x.db.Close()
	if x.writer != nil {
		err = errors.Join(err, x.writer.Close())
	}
	x.db, x.writer = nil, nil
	return err
}

// SearchSize returns how many bytes the index takes.
func (s *Store) SearchSize() (size int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.search.path() + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}

// Place implements [store.Index].
func (x *searchFile) Place(ctx context.Context) (place string, err error) {
	err = x.db.QueryRowContext(ctx, "SELECT upto FROM place").Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return place, x.judged(err)
}

// Indexed implements [store.Index].
func (x *searchFile) Indexed(ctx context.Context) (map[int64]store.Indexed, error) {
	found := map[int64]store.Indexed{}
	rows, err := x.db.QueryContext(ctx, "SELECT key, upto, first FROM sources")
	if err != nil {
		return nil, x.judged(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var at store.Indexed
		if err := rows.Scan(&key, &at.Upto, &at.First); err != nil {
			return nil, err
		}
		found[key] = at
	}
	return found, x.judged(rows.Err())
}
