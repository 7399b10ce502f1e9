package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
)

// A Database is what the tables are in.
type Database interface {
	// Begin, Commit and Rollback bracket a transaction on the connection that writes.
	// Commit returns ErrAgain if the transaction has left no trace and can be made anew.
	Begin(w *Writer) error
	Commit(w *Writer) error
	Rollback(w *Writer) error

	// Grow makes room in the log of outcomes up to a place, within a transaction. Stale
	// returns the oldest outcomes that are kept together, if all of them began before a
	// moment, and DropOutcomes drops them at once. A database that keeps all outcomes
	// together finds none.
	Grow(w *Writer, upto int64) error
	Stale(w *Writer, before int64) (Stretch, error)
	DropOutcomes(w *Writer, part Stretch) error

	// Judge says what an error means for a transaction.
	Judge(err error) Verdict

	// Fault says in the words of package freshet what went wrong while doing something,
	// and Hint what to do about rows that are not as they were written.
	Fault(doing string, err error) error
	Hint() string

	// Snapshot returns a connection of its own in a transaction that only reads. Inspect
	// has the database look for damages by itself.
	Snapshot(ctx context.Context) (*Writer, error)
	Inspect(ctx context.Context, w *Writer, found func(what string)) error

	// Held returns how many bytes are in use, in a snapshot. Shrink gives back
	// what is not.
	Held(w *Writer) (int64, error)
	Shrink(ctx context.Context, write func(job func(*Writer) error) error) error
}

// A Stretch is a part of the log of outcomes, from one place to another. The zero Stretch is
// none.
type Stretch struct{ First, Last int64 }

// A Verdict is what an error means for a transaction.
type Verdict int

// What an error can mean.
const (
	NotOfDatabase Verdict = iota // it comes from elsewhere
	Refused                      // a row was refused as such; the database works
	Failed                       // the transaction failed, and another may not
	InDoubt                      // what has been committed is not known: nothing more is written
)

// ErrAgain says that a transaction has left no trace, and can be made anew at once.
var ErrAgain = errors.New("the transaction was not committed")

// Config says how a store works. Name, Database, Reader, Index and Schema have no defaults. Writer may
// be nil for a store that is only read.
type Config struct {
	Name     string // of the database, in errors
	Where    string // likewise, as a user names it
	Database Database
	Reader   *sql.DB // a few connections that only read
	Writer   *Writer // the connection that writes
	Index    Index   // of what versions say

	// Reading are the options of a transaction that sees everything as it is at one moment.
	Reading *sql.TxOptions

	// NewBody is the statement that inserts a body unless the source has one that looks the
	// same. Its parameters are id, source, sum, size, source, sum, size, base, depth, frame.
	NewBody string

	Schema     *Schema
	Edits      EditLog
	ReadOnly   bool
	Now        func() time.Time // nil means time.Now
	Log        *slog.Logger     // nil means silence
	Batch      int              // most callers that share a transaction; 0 means 256
	Linger     time.Duration    // how far apart transactions begin that polls share, while polls come thick; 0 means that none waits for others
	CacheBytes int64            // of decoded bodies held in memory; 0 means 64 MiB

	// FlushEvery is after how many outcomes the standings are written; until
	// then they are folded from the log when the store is opened. 0 means
	// 16384.
	FlushEvery int

	// Epoch is the name under which this process gives out numbers. It must be
	// one that no process has used on this store or on a copy of it. "" means a
	// random one.
	Epoch freshet.Epoch
}

func (c Config) withDefaults() Config {
	c.Batch = cmp.Or(c.Batch, 256)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.FlushEvery = cmp.Or(c.FlushEvery, 16384)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Epoch = cmp.Or(c.Epoch, randomEpoch())
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Reading == nil {
		c.Reading = &sql.TxOptions{ReadOnly: true}
	}
	return c
}

// A Store is a [freshet.Store] in the tables of a database. It is safe for concurrent use.
type Store struct {
	*mirror
	*bodies
	*committer
	*sourceReader
	*versionReader
	*logReader
	*stateStore
	*searcher
	*pruner
	*verifier
	endings sync.Pool // of *ending
}

// A mirror is what a process knows of a store without reading it: its sources, and where the logs
// end. The process that writes keeps it by what it commits, another one by following. All parts of a
// store share it.
type mirror struct {
	cfg    Config
	schema *Schema
	log    *slog.Logger
	reader *reader
	epochs epochs // the present one last; only Load changes them

	// These are changed only by the leader of the queue, or a follower, under mu.
	next     counter
	unmarked int  // outcomes since the last mark
	begun    bool // the present epoch is on record

	*sourceMemory
	changed notifier // rung when there is a new change
	derived notifier // rung when a log of a feature has a new entry
	tail    tail     // of the log of outcomes
	unread  bool     // another process has written since the ends of the logs were read

	following sync.Mutex // held to bring a store that is only read up to date
	reached   reached    // how far that has come
	heir      *mirror    // that writes in its memory of the sources now; nil if none does

	from atomic.Pointer[mirror] // whose memory of the sources it writes in; nil if it is its own
}

// A memory of the sources is what a store remembers of its sources. One that takes over from another goes on in
// the same memory of the sources, however many sources there are.
type sourceMemory struct {
	mu          sync.RWMutex // held to read entries, or to change them while leading
	entries     map[freshet.SourceID]*entry
	sites       map[int64]freshet.Source // by their keys
	sourceIndex *sourceIndex             // of the sources; nil in a store that is only read
	unflushed   []*entry                 // those that are dirty, and some that were purged
}

// New returns the store in a database whose schema is up to date. Before it is used, other
// than by Verify, it needs a Load.
func New(cfg Config) *Store {
	cfg = cfg.withDefaults()
	reader := &reader{DB: cfg.Reader, stmts: map[string]*sql.Stmt{}}
	m := &mirror{cfg: cfg, schema: cfg.Schema, log: cfg.Log, reader: reader, sourceMemory: &sourceMemory{}}
	b := &bodies{rows: reader, database: cfg.Database, name: cfg.Name, cache: newBodyCache(cfg.CacheBytes)}
	index := &searchIndex{Index: cfg.Index}
	c := &committer{mirror: m, bodies: b, writer: cfg.Writer, index: index, states: newStateCache(cfg.CacheBytes / 4)}
	c.queue = queue{most: cfg.Batch, linger: cfg.Linger, perform: c.perform}
	sources := &sourceReader{m}
	return &Store{
		mirror: m, bodies: b, committer: c, sourceReader: sources, versionReader: &versionReader{m, b}, logReader: &logReader{m},
		stateStore: &stateStore{c}, searcher: &searcher{m, b, index, sources}, pruner: &pruner{c}, verifier: &verifier{cfg.Database, cfg.Name, &b.codec, cfg.Schema},
	}
}

// Load reads what the store has to know, and finishes what was cut off. It refuses a store
// whose data was moved elsewhere, and one that is not complete.
func (s *Store) Load(ctx context.Context) error {
	if err := s.checkMark(ctx); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return s.fault("reading the store", err)
	}
	if s.cfg.ReadOnly {
		return nil
	}
	return s.resume(ctx)
}

// fault says in the words of package freshet what went wrong.
func (s *mirror) fault(doing string, err error) error { return faultOf(s.cfg.Database, doing, err) }

func faultOf(d Database, doing string, err error) error {
	if err == nil {
		return nil
	}
	return d.Fault(doing, err)
}

// Close writes what is still in memory, and gives back what was made of the reader. Every
// other call must have returned. The connections are closed by who opened them.
func (s *Store) Close() error {
	var err error
	if s.writer != nil && s.unmarked > 0 && s.broken == nil {
		err = s.write(context.Background(), "closing the store", (*batch).flush)
	}
	return errors.Join(err, s.Release())
}

// Flush writes what is still in memory.
func (s *Store) Flush(ctx context.Context) error {
	return s.write(ctx, "closing the store", (*batch).flush)
}

// Release gives back what was made of the reader, and writes nothing.
func (s *Store) Release() error {
	s.part()
	return s.reader.close()
}

// A Size is how much room a store takes.
type Size struct {
	File   int64 // bytes of the files
	Bodies int64 // bytes of stored bodies, as compressed
	Full   int64 // bytes of the same bodies, as they were received
}
