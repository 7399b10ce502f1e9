package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"freshet/internal/filelock"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// The files in the data directory.
const (
	fileName = "freshet.db"
	lockName = "freshet.lock"
)

// Config says where the store is and how it works. Only Dir has no default.
type Config struct {
	Dir      string           // the data directory; it is made if it does not exist
	ReadOnly bool             // look at a store that another process may be writing
	Now      func() time.Time // the wall clock; nil means time.Now
	Log      *slog.Logger     // nil means silence

	Program string // the version of freshet, which the store keeps with its data format

	Features []store.Feature // that keep tables in the store: always the same

	Batch      int           // most callers that share a transaction; 0 means 256
	Linger     time.Duration // how far apart transactions begin that polls share, while polls come thick; 0 means that none waits for others
	Readers    int           // most concurrent readers; 0 means 4
	CacheBytes int64         // of decoded bodies held in memory; 0 means 64 MiB

	// FlushEvery is after how many outcomes the standings are written; until
	// then they are folded from the log when the store is opened. 0 means
	// 16384.
	FlushEvery int

	// VFS is SQLite's name of the disk that the database is on, and Files are
	// the files that lie there in Dir. The lock is always in Dir of the machine.
	// Tests set them, to have disks that fail. Empty means the disk of the
	// machine.
	VFS   string
	Files fs.FS

	// Epoch is the name under which this process gives out numbers. It must be
	// one that no process has used on this store or on a copy of it. "" means a
	// random one.
	Epoch freshet.Epoch
}

func (c Config) withDefaults() Config {
	c.Readers = cmp.Or(c.Readers, 4)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Files == nil {
		c.Files = os.DirFS(c.Dir)
	}
	return c
}

// A Store is a [freshet.Store] in one file. It is safe for concurrent use.
type Store struct {
	*store.Store
	cfg    Config
	schema *store.Schema
	path   string // of the database file
	log    *slog.Logger
	lock   *os.File
	reader *sql.DB
	writer *store.Writer
	search *searchFile
}

// Open opens the store in cfg.Dir, making it if there is none. It must be
// closed. A directory that another process is writing to gives ErrBusy, a file
// that is not what was written ErrDamaged, and one that cannot be written
// ErrStorage, each with a hint.
func Open(ctx context.Context, cfg Config) (_ *Store, err error) {
	s := newStore(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.enter(); err != nil {
		return nil, err
	}
	unclean, err := s.inspect()
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, fault(s.path, "opening the store", err)
	}
	s.lay()
	if unclean {
		if err := s.checkQuickly(ctx); err != nil {
			return nil, err
		}
	}
	return s, s.Load(ctx)
}

// newStore returns a store that is not connected to anything.
func newStore(cfg Config) *Store {
	cfg = cfg.withDefaults()
	return &Store{cfg: cfg, schema: store.NewSchema(cfg.Features), path: filepath.Join(cfg.Dir, fileName), log: cfg.Log, search: &searchFile{cfg: cfg}}
}

// lay makes the store of tables out of the connections.
func (s *Store) lay() {
	s.Store = store.New(store.Config{
		Name: s.path, Where: s.cfg.Dir, Database: (*file)(s), Reader: s.reader, Writer: s.writer, Index: s.search, NewBody: insertNewBody, Schema: s.schema,
		ReadOnly: s.cfg.ReadOnly, Now: s.cfg.Now, Log: s.cfg.Log, Batch: s.cfg.Batch, Linger: s.cfg.Linger, CacheBytes: s.cfg.CacheBytes,
		FlushEvery: s.cfg.FlushEvery, Epoch: s.cfg.Epoch,
	})
}

// enter makes the directory and, to write, takes its lock.
func (s *Store) enter() error {
	dir := s.cfg.Dir
	if len(s.cfg.Features) == 0 {
		return store.ErrNoFeatures
	}
	if dir == "" {
		return invalid.Errorf("data", "no data directory was given")
	}
	if !s.cfg.ReadOnly {
		if err := makeDir(dir); err != nil {
			return s.dirFault(err)
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return s.dirFault(err)
	} else if !info.IsDir() {
		return freshet.WithHint(invalid.Input(fmt.Errorf("data directory %s: not a directory", dir)), "choose a directory, or one that does not exist yet")
	}
	if s.cfg.ReadOnly {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return s.dirFault(err)
	}
	s.lock = f
	ours, err := filelock.Try(f)
	switch {
	case err != nil:
		return s.dirFault(err)
	case !ours:
		return freshet.WithHint(fmt.Errorf("data directory %s: %w", dir, freshet.ErrBusy), "stop the other freshet process, or use another data directory")
	}
	return nil
}

// dirFault explains an error of the data directory.
func (s *Store) dirFault(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return freshet.WithHint(fmt.Errorf("data directory: %w: %w", freshet.ErrNotFound, err), "use the directory that freshet serve uses")
	case strings.Contains(err.Error(), "not a directory"):
		return freshet.WithHint(fmt.Errorf("data directory %s: %w", s.cfg.Dir, err), "choose a directory, or one that does not exist yet")
	}
	return fault(s.cfg.Dir, "opening the data directory", err)
}

// connect opens the connections and brings the schema up to date.
func (s *Store) connect(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	connector, err := sqlite.NewConnector(s.dsn(false))
	if err != nil {
		return err
	}
	if !s.cfg.ReadOnly {
		db := sql.OpenDB(connector)
		err := s.migrate(ctx, db)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
		conn, err := connector.Connect(ctx)
		if err != nil {
			return err
		}
		s.writer = store.NewWriter(conn)
		if err := s.addChecksums(s.writer, s.sayProgress(ctx, "adding checksums to stored rows")); err != nil {
			return err
		}
	}
	reading, err := sqlite.NewConnector(s.dsn(true))
	if err != nil {
		return err
	}
	s.reader = sql.OpenDB(reading)
	s.reader.SetMaxOpenConns(s.cfg.Readers)
	s.reader.SetMaxIdleConns(s.cfg.Readers)
	if s.cfg.ReadOnly {
		return s.checkSchema(ctx, s.reader)
	}
	return nil
}

// sayProgress returns what logs how far something is, every few seconds.
func (s *Store) sayProgress(ctx context.Context, doing string) func(table string, rows int64) {
	said := time.Now()
	return func(table string, rows int64) {
		if time.Since(said) < 3*time.Second {
			return
		}
		said = time.Now()
		s.log.InfoContext(ctx, doing, "table", table, "rows", rows)
	}
}

// dsn names the database to the driver.
func (s *Store) dsn(reading bool) string {
	q := url.Values{"_busy_timeout": {"10000"}}
	switch {
	case s.cfg.ReadOnly && s.unwritable():
		q.Set("immutable", "1") // WAL wants files beside it that cannot be made here
	case reading:
		q.Set("mode", "ro")
	default:
		q.Set("_auto_vacuum", "INCREMENTAL")
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "FULL")
		q.Set("_foreign_keys", "1")
		q.Add("_pragma", "cache_size(-16000)")
		q.Add("_pragma", "secure_delete(1)") // what is purged is overwritten
		q.Add("_pragma", "journal_size_limit(67108864)")
		q.Add("_pragma", "wal_autocheckpoint(4000)") // pages; those that several transactions change are copied once
	}
	q.Add("_pragma", "temp_store(memory)")
	if s.cfg.VFS != "" {
		q.Set("vfs", s.cfg.VFS)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(s.path), RawQuery: q.Encode()}
	return u.String()
}

// unwritable reports whether no log lies beside the database and none can be
// made, so that nobody can be writing it.
func (s *Store) unwritable() bool {
	if _, err := fs.Stat(s.cfg.Files, fileName+"-wal"); err == nil {
		return false
	}
	f, err := os.CreateTemp(s.cfg.Dir, ".probe-*")
	if err != nil {
		return true
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) != nil
}

// Close writes what is still in memory and closes the store. Every other call
// must have returned.
func (s *Store) Close() error {
	return errors.Join(s.Store.Close(), s.release())
}

// release gives back connections and the lock.
func (s *Store) release() error {
	errs := []error{s.search.close()}
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
