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

	"freshet"
	"freshet/tables"
)

// Config says where the store is and how it works. Only URL has no default.
type Config struct {
	URL      string           // such as postgres://freshet@db.example:5432/freshet
	ReadOnly bool             // look at a store that another process may be writing
	Now      func() time.Time // the wall clock; nil means time.Now
	Log      *slog.Logger     // nil means silence

	Batch      int   // most callers that share a transaction; 0 means 256
	Readers    int   // most concurrent readers; 0 means 4
	CacheBytes int64 // of decoded bodies held in memory; 0 means 64 MiB
	FlushEvery int   // as in [tables.Config]

	// Lease is for how long nobody else may write after the last sign of life; 0 means
	// 5 s. All that use a database have the same.
	Lease time.Duration

	// Partition is how many outcomes are kept together, and dropped together when they are
	// old; 0 means a million.
	Partition int64

	Epoch freshet.Epoch // as in [tables.Config]
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
	*tables.Store
	cfg       Config
	name      string // of the database, without a password
	connector connector
	reader    *sql.DB
	base      *database
	warnings  []string

	stop    context.CancelFunc // ends what runs beside it
	running sync.WaitGroup
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
			err = errors.Join(err, s.release())
		}
	}()
	if !cfg.ReadOnly {
		if err := s.base.lead(ctx); err != nil {
			return nil, err
		}
	}
	s.lay()
	if err := s.Load(ctx); err != nil {
		return nil, err
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if cfg.ReadOnly {
		s.running.Go(func() { s.listen(beside) })
	} else {
		s.running.Go(func() { s.renew(beside) })
	}
	return s, nil
}

// connect returns a store whose database has the schema that it wants.
func connect(ctx context.Context, cfg Config) (_ *Store, err error) {
	cfg = cfg.withDefaults()
	parsed, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, freshet.WithHint(&freshet.InvalidError{Field: "store", Reason: "it is not the URL of a PostgreSQL database"}, "write postgres://USER@HOST:PORT/DATABASE, with the password in $PGPASSWORD or ~/.pgpass")
	}
	parsed.ConnectTimeout = cmp.Or(parsed.ConnectTimeout, 10*time.Second)
	parsed.RuntimeParams["application_name"] = cmp.Or(parsed.RuntimeParams["application_name"], "freshet")
	s := &Store{cfg: cfg, name: nameOf(parsed), connector: newConnector(parsed)}
	s.base = &database{Store: s, holder: holder()}
	s.reader = sql.OpenDB(s.connector)
	s.reader.SetMaxOpenConns(cfg.Readers)
	s.reader.SetMaxIdleConns(cfg.Readers)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.examine(ctx); err != nil {
		return nil, err
	}
	return s, s.migrate(ctx)
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
	s.Store = tables.New(tables.Config{
		Name: s.name, Database: s.base, Reader: s.reader, Writer: s.base.writer, Index: &index{Store: s}, NewBody: insertNewBody,
		Reading:  &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		ReadOnly: s.cfg.ReadOnly, Now: s.cfg.Now, Log: s.cfg.Log, Batch: s.cfg.Batch, CacheBytes: s.cfg.CacheBytes,
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

// release closes the connections.
func (s *Store) release() error {
	var errs []error
	if s.base.writer != nil && !s.base.conn.lost {
		errs = append(errs, s.base.writer.Close())
	}
	return errors.Join(append(errs, s.reader.Close())...)
}

// Verify looks through everything that is stored in a database, as Store.Verify does. It is
// for stores that another process may be writing.
func Verify(ctx context.Context, cfg Config, say func(tables.Progress)) (r tables.Report, err error) {
	cfg.ReadOnly = true
	s, err := connect(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.release()) }()
	s.lay()
	return s.Store.Verify(ctx, say)
}
