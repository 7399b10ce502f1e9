package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// Config says where the store is and how it works. Only URL has no default.
type Config struct {
	URL      string           // such as postgres://freshet@db.example:5432/freshet
	ReadOnly bool             // look at a store that another process may be writing
	Now      func() time.Time // the wall clock; nil means time.Now
	Log      *slog.Logger     // nil means silence

	Program string // the version of freshet, which the store keeps with its data format

	Features []store.Feature // that keep tables in the store: always the same

	Batch      int           // most callers that share a transaction; 0 means 256
	Linger     time.Duration // as in [store.Config]
	Readers    int           // most concurrent readers; 0 means 4
	CacheBytes int64         // of decoded bodies held in memory; 0 means 64 MiB
	FlushEvery int           // as in [store.Config]

	Address string // where others reach this process while it writes; "" means that they cannot
	Try     bool   // if another process may be writing, do not wait to see whether it does

	// Lease is for how long nobody else may write after the last sign of life; 0 means
	// 5 s. All that use a database have the same.
	Lease time.Duration

	// Partition is how many outcomes are kept together, and dropped together when they are
	// old; 0 means a million.
	Partition int64

	Epoch freshet.Epoch // as in [store.Config]

	// From returns a store on the same database that was only read up to now. A store that is to
	// be written asks for it when it has the lease, takes over what it knows, and reads only
	// what was written since. Nil means that there is none.
	From func() *Store
}

func (c Config) withDefaults() Config {
	c.Readers = cmp.Or(c.Readers, 4)
	c.Lease = cmp.Or(c.Lease, 5*time.Second)
	c.Partition = cmp.Or(c.Partition, 1_000_000)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// A Store is a [freshet.Store] in a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	*store.Store
	cfg       Config
	schema    *store.Schema
	name      string // of the database, without a password
	connector connector
	reader    *sql.DB
	base      *database
	warnings  []string
	patience  time.Duration // with which it is connected

	stop    context.CancelFunc // ends what runs beside it
	running sync.WaitGroup
	unwatch func() // ends what looks after the connections
}

// Open opens the store in a database, and makes its tables if there are none. It must be
// closed. A database that another process writes to gives ErrBusy, one that cannot be
// reached or would not keep what is written ErrStorage, each with a hint.
func Open(ctx context.Context, cfg Config) (_ *Store, err error) {
	s, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.base.resign(), s.release())
		}
	}()
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if cfg.ReadOnly {
		s.running.Go(func() { s.listen(beside) })
	} else {
		s.base.bounded = true
		if err := s.base.bound(ctx, s.base.conn); err != nil {
			stop()
			return nil, s.base.Fault("connecting", err)
		}
		for _, warning := range s.warnings {
			s.cfg.Log.WarnContext(ctx, warning, "store", s.name)
		}
		s.running.Go(func() { s.renew(beside) })
	}
	return s, nil
}

// take takes the lease if the store is to be written, and loads its state. The holder of the lease
// migrates the schema, so that nobody writes by the old one.
func (s *Store) take(ctx context.Context) error {
	if s.cfg.ReadOnly {
		s.lay()
		return s.Load(ctx)
	}
	if err := s.base.lead(ctx); err != nil {
		return err
	}
	holding, done := s.hold(ctx)
	defer done()
	if err := s.migrate(holding); err != nil {
		return err
	}
	if err := s.base.lastEdit(); err != nil {
		return s.base.Fault("reading which sources were edited", err)
	}
	s.lay()
	load := s.Load
	if s.cfg.From != nil {
		load = func(ctx context.Context) error { return s.LoadFrom(ctx, s.cfg.From().Store) }
	}
	if err := load(holding); err != nil {
		if errors.Is(context.Cause(holding), ErrFenced) {
			err = fmt.Errorf("%s: %w: %w", s.name, freshet.ErrBusy, ErrFenced)
		}
		return err
	}
	return nil
}

// connect returns a store whose database can be led: with the schema that it wants if it is only
// read, and with some schema otherwise.
func connect(ctx context.Context, cfg Config) (*Store, error) {
	s, err := dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// dial returns a store of a server that keeps what is written, whatever the schema.
func dial(ctx context.Context, cfg Config) (_ *Store, err error) {
	if len(cfg.Features) == 0 {
		return nil, store.ErrNoFeatures
	}
	cfg = cfg.withDefaults()
	parsed, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, freshet.WithHint(invalid.Errorf("store", "it is not the URL of a PostgreSQL database"), "write postgres://USER@HOST:PORT/DATABASE, with the password in $PGPASSWORD or ~/.pgpass")
	}
	parsed.ConnectTimeout = cmp.Or(parsed.ConnectTimeout, 10*time.Second)
	parsed.RuntimeParams["application_name"] = cmp.Or(parsed.RuntimeParams["application_name"], "freshet")
	s := &Store{cfg: cfg, schema: store.NewSchema(cfg.Features), name: nameOf(parsed), connector: newConnector(parsed, cfg.Lease), patience: parsed.ConnectTimeout + cfg.Lease}
	lost := make(chan struct{})
	s.base = &database{Store: s, holder: holder(), count: clock.Begin(), lost: lost, lose: sync.OnceFunc(func() { close(lost) })}
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	watched := make(chan struct{})
	go func() { defer close(watched); s.watch(watching) }()
	s.unwatch = func() { unwatch(); <-watched }
	s.reader = sql.OpenDB(s.connector)
	s.reader.SetMaxOpenConns(cfg.Readers)
	s.reader.SetMaxIdleConns(cfg.Readers)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	return s, s.examine(ctx)
}

// nameOf returns the name of a database, without user and password.
func nameOf(cfg *pgx.ConnConfig) string {
	name := fmt.Sprintf("postgres://%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
	if path := cfg.RuntimeParams["search_path"]; path != "" {
		name += "?search_path=" + path
	}
	return name
}

// holder says who holds the lease.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// lay makes the store of tables out of the connections.
func (s *Store) lay() {
	edits := store.EditLog{Since: s.base.editsSince, Last: s.base.lastBatch}
	if !s.cfg.ReadOnly {
		edits = store.EditLog{Note: s.base.noteEdits}
	}
	s.Store = store.New(store.Config{
		Schema: s.schema, Name: s.name, Where: s.name, Database: s.base, Reader: s.reader, Writer: s.base.writer, Index: &index{Store: s}, NewBody: insertNewBody,
		Reading: &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		Edits:   edits, ReadOnly: s.cfg.ReadOnly, Now: s.cfg.Now, Log: s.cfg.Log, Batch: s.cfg.Batch, Linger: s.cfg.Linger, CacheBytes: s.cfg.CacheBytes,
		FlushEvery: s.cfg.FlushEvery, Epoch: s.cfg.Epoch,
	})
}

// Warnings are what an operator should know of the database: what has been written may be
// lost with the machine that it is on.
func (s *Store) Warnings() []string { return s.warnings }

// Close writes what is still in memory, gives up the lease and closes the store. Every other
// call must have returned.
func (s *Store) Close() error {
	s.stop()
	s.running.Wait()
	return errors.Join(s.Store.Close(), s.base.resign(), s.release())
}

// Resign writes what is still in memory and gives up the lease. From then on nothing can be written, and what
// is stored can be read until the store is closed.
func (s *Store) Resign() error {
	s.stop()
	s.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Lease)
	defer cancel()
	err := s.Flush(ctx)
	if err == nil {
		err = s.Write(ctx, "giving up the lease", func(w *store.Writer) error {
			s.base.over = true
			_, err := w.Exec("UPDATE leases SET renewed = '-infinity' WHERE name = 'brain' AND epoch = ?1", s.base.epoch)
			return err
		})
	}
	s.base.until.Store(0)
	s.base.lose()
	return err
}

// release closes the connections.
func (s *Store) release() error {
	var errs []error
	if s.base.writer != nil && !s.base.conn.isLost() {
		errs = append(errs, s.base.writer.Close())
	}
	errs = append(errs, s.reader.Close())
	s.unwatch()
	return errors.Join(errs...)
}

// Verify looks through everything that is stored in a database, as Store.Verify does. It is
// for stores that another process may be writing.
func Verify(ctx context.Context, cfg Config, say func(store.Progress)) (r store.Report, err error) {
	cfg.ReadOnly = true
	s, err := connect(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.release()) }()
	s.lay()
	return s.Store.Verify(ctx, say)
}
