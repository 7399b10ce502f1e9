package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"freshet/internal/freshet"
)

// A committer writes: it gathers the work of concurrent callers into transactions.
type committer struct {
	*mirror
	*bodies
	index  *searchIndex // gets new versions
	states stateCache
	queue  queue

	// These belong to the leader of the queue.
	writer *Writer
	slate  slate
	broken error  // why nothing can be written until the store is opened again
	pruned Moment // attempts that began before it may have been deleted, though they are open
}

// Write performs a job in the next transaction, and returns when it is committed.
func (s *committer) Write(ctx context.Context, doing string, job func(*Writer) error) error {
	return s.write(ctx, doing, func(b *batch) error { return job(b.Writer) })
}

// write performs a job in the next transaction, and returns when it is synced.
func (s *committer) write(ctx context.Context, doing string, j job) error {
	return s.enqueue(ctx, doing, j, true)
}

// writePoll is write for what polls write: they can wait a little for others to share the transaction.
func (s *committer) writePoll(ctx context.Context, doing string, j job) error {
	return s.enqueue(ctx, doing, j, false)
}

func (s *committer) enqueue(ctx context.Context, doing string, j job, hasty bool) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("%s in %s: %w: it is open for reading only", doing, s.cfg.Name, freshet.ErrStorage)
	}
	j, committed := riding(ctx, j)
	err := s.queue.do(ctx, j, hasty)
	if err == nil {
		committed()
	}
	switch {
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged):
		return fmt.Errorf("%s: %w", doing, err)
	case s.cfg.Database.Judge(err) != NotOfDatabase:
		return s.fault(doing, err)
	}
	return err
}

// storageFault turns an error of a transaction into what its callers get. If
// it leaves unknown what is on disk, nothing more is written.
func (s *committer) storageFault(err error) error {
	found := s.fault("writing", err)
	if !errors.Is(found, freshet.ErrStorage) && !errors.Is(found, freshet.ErrDamaged) {
		found = fmt.Errorf("%w: %w", freshet.ErrStorage, found)
	}
	if s.cfg.Database.Judge(err) == InDoubt {
		found = fmt.Errorf("%w: %w", freshet.ErrStoreFailed, found)
		s.broken = found
		s.log.Error("nothing more is written to this store", "err", err, "hint", "restart freshet, unless it goes on by itself, as a node on PostgreSQL does")
	}
	return found
}

// unknown says that there is no such source.
func unknown(id freshet.SourceID) error {
	return fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
}

// A batch is the work of one transaction: what it writes goes through w, what
// it changes in memory is staged and takes effect only if the transaction is
// committed.
type batch struct {
	rowWriter
	store  *committer
	next   counter
	slate  *slate
	staged map[freshet.SourceID]*entry // nil: purged
	sites  map[int64]freshet.Source    // by their keys; the zero source: purged
	cached []cachedBody
	forget []int64 // bodies deleted or superseded, which need not be cached

	stated []newState // of sources, that polls read
	told   bool       // update times or forecasts were imported

	logged   []freshet.Outcome // added to the log
	unmarked int               // of those, since the last mark
	unlogged bool              // outcomes were taken out of the log
	changed  bool
	derived  bool // entries were added to a log of a feature
	flushed  bool
	begun    bool // the epoch was put on record

	// These are of the job that is run, for a [Rider].
	result any  // what its work has come to
	more   bool // its work goes on in another transaction
}

// entry returns the source with the ID, to be changed by this batch, or nil.
func (b *batch) entry(id freshet.SourceID) *entry {
	if e, ok := b.staged[id]; ok {
		return e
	}
	e, ok := b.store.entries[id]
	if !ok {
		return nil
	}
	copied := b.slate.entry()
	*copied = *e
	b.staged[id] = copied
	return copied
}

// A slate is room for the work of one batch. It is wiped and used again: to make room
// anew for every poll costs as much as one of its statements.
type slate struct {
	staged map[freshet.SourceID]*entry
	copies []*entry
	used   int // of the copies
	logged []freshet.Outcome
}

// wipe makes the slate ready for the next batch.
func (s *slate) wipe() {
	if s.staged == nil {
		s.staged = map[freshet.SourceID]*entry{}
	}
	clear(s.staged)
	clear(s.logged)
	s.used, s.logged = 0, s.logged[:0]
}

// entry returns room for the copy of an entry.
func (s *slate) entry() *entry {
	if s.used == len(s.copies) {
		s.copies = append(s.copies, new(entry))
	}
	s.used++
	return s.copies[s.used-1]
}

// A job is one caller's part of a batch. It may be run more than once, each
// time on a fresh batch.
type job func(*batch) error

// mostAgain is how often a batch is made anew whose transaction has left no trace.
const mostAgain = 3

// perform runs jobs in one transaction and returns the error of each. A job
// that fails takes only itself out: the others are run again without it.
// Faults of the storage fail them all.
func (s *committer) perform(jobs []job) []error {
	errs := make([]error, len(jobs))
	failAll := func(err error) []error {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
		return errs
	}
	for again := 0; ; {
		if s.broken != nil {
			return failAll(s.broken)
		}
		b, failed, err := s.attempt(jobs, errs)
		if errors.Is(err, ErrAgain) && again < mostAgain {
			again++
			continue
		}
		if err != nil {
			return failAll(s.storageFault(err))
		}
		if failed < 0 {
			s.apply(b)
			return errs
		}
		if !slices.Contains(errs, nil) {
			return errs
		}
	}
}

// attempt runs the jobs that have not failed yet in a transaction. If one of
// them fails it notes its error, undoes everything and returns its index;
// otherwise the transaction is committed.
func (s *committer) attempt(jobs []job, errs []error) (b *batch, failed int, err error) {
	w := s.writer
	s.slate.wipe()
	b = &batch{store: s, next: s.next, slate: &s.slate, staged: s.slate.staged, logged: s.slate.logged}
	b.rowWriter = rowWriter{Writer: w, schema: s.schema, sums: &b.next.sums}
	if err := s.cfg.Database.Begin(w); err != nil {
		return nil, -1, err
	}
	for i, job := range jobs {
		if errs[i] != nil {
			continue
		}
		if err := job(b); err != nil {
			s.rollback()
			if s.isStorageFault(err) {
				return nil, -1, err
			}
			errs[i] = err
			return nil, i, nil
		}
	}
	if s.unmarked+b.unmarked >= s.cfg.FlushEvery {
		if err := b.flush(); err != nil {
			s.rollback()
			return nil, -1, err
		}
	}
	if err := b.noteEdits(); err != nil {
		s.rollback()
		return nil, -1, err
	}
	if err := b.writeSums(); err != nil {
		s.rollback()
		return nil, -1, err
	}
	if err := s.cfg.Database.Commit(w); err != nil {
		if !errors.Is(err, ErrAgain) {
			s.rollback()
		}
		return nil, -1, err
	}
	return b, -1, nil
}

// rollback undoes a transaction. The database may have done so already.
func (s *committer) rollback() {
	if err := s.cfg.Database.Rollback(s.writer); err != nil {
		s.log.Debug("nothing to sourceIndex back", "err", err)
	}
}

// apply makes what a committed batch did visible to this process.
func (s *committer) apply(b *batch) {
	s.mu.Lock()
	if b.flushed {
		s.clearUnflushed()
	}
	for id, e := range b.staged {
		s.index.note(s.entries[id], e)
		switch old := s.entries[id]; {
		case e == nil && old == nil: // added and purged in one go
		case e == nil:
			s.sourceIndex.remove(old)
			delete(s.entries, id)
		case old == nil:
			s.entries[id] = e
			if e.dirty {
				s.unflushed = append(s.unflushed, e)
			}
			s.sourceIndex.insert(e)
		default:
			if e.dirty && !old.dirty {
				s.unflushed = append(s.unflushed, old)
			}
			e.place = old.place // which a list may have changed meanwhile
			*old = *e
			s.sourceIndex.update(old)
		}
	}
	s.applySites(b.sites)
	if b.flushed {
		s.unmarked = 0
	}
	s.unmarked += b.unmarked
	s.next = b.next
	s.begun = s.begun || b.begun
	if b.unlogged {
		s.tail.clear()
	}
	s.tail.add(b.logged)
	s.slate.logged = b.logged
	if b.changed {
		s.changed.ring()
	}
	if b.derived {
		s.derived.ring()
	}
	s.mu.Unlock()
	s.states.written(b.stated)
	for _, c := range b.cached {
		s.cache.put(c)
	}
	for _, id := range b.forget {
		s.cache.drop(id)
	}
}

// settleUp notes that all tallies have been written.
func (l *sourceMemory) clearUnflushed() {
	for _, e := range l.unflushed {
		e.dirty = false
	}
	clear(l.unflushed)
	l.unflushed = l.unflushed[:0]
}

// flush writes the tallies of all sources that have changed, and marks how far
// they go. Jobs that follow it in the same batch make them dirty again.
func (b *batch) flush() error {
	for _, e := range b.store.unflushed {
		if _, ok := b.staged[e.id]; ok || b.store.entries[e.id] != e { // or purged
			continue
		}
		if err := b.writeTally(e); err != nil {
			return err
		}
	}
	for _, e := range b.staged {
		if e == nil {
			continue
		}
		if e.dirty {
			if err := b.writeTally(e); err != nil {
				return err
			}
			e.dirty = false
		}
	}
	b.flushed, b.unmarked = true, 0
	return b.put(&marksTable, int64(b.next.outcome), b.next.latest.Value())
}

func (b *batch) writeTally(e *entry) error {
	return b.put(&talliesTable, e.key, e.begun.Value(), e.seen.Value(), e.notBefore.Value(), int64(e.failures), string(e.failure), e.err,
		int64(e.requests), TextOrNull(string(e.route)), e.polls, int64(e.last), e.fresh.Value())
}

// writeHead writes what a capture changes of how things stand with a source.
func (b *batch) writeHead(e *entry) error {
	moved, quiets := e.moved.get(), e.quiets.get()
	return b.put(&headsTable, e.key, e.first, e.head, e.recipe, e.validators.ETag, e.validators.LastModified,
		e.changes, e.changedAt.Value(), int64(e.changed), moved.URL, MomentOf(moved.At).Value(),
		TextOrNull(string(e.suspect)), TextOrNull(e.landed), oneOrNull(e.belied),
		CountOrNull(e.newest), e.heldOrNull(), CountOrNull(int64(quiets.Suspect)), CountOrNull(int64(quiets.Noise)))
}

// isStorageFault reports whether err is a fault of the storage rather than of
// what was to be stored.
func (s *committer) isStorageFault(err error) bool {
	if errors.Is(err, freshet.ErrStorage) || errors.Is(err, ErrAgain) {
		return true
	}
	verdict := s.cfg.Database.Judge(err)
	return verdict != NotOfDatabase && verdict != Refused
}
