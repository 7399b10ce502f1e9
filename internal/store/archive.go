package store

import (
	"context"
	"database/sql/driver"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// Begin implements [freshet.Archive].
func (s *Store) Begin(ctx context.Context, p freshet.Poll) (head freshet.Head, err error) {
	id, at, host := p.Source.ID, MomentOf(p.At), p.Host // all that it needs of a large p
	err = s.write(ctx, "beginning a poll", func(b *batch) error {
		e := b.entry(id)
		if e == nil || e.removed {
			return unknown(id)
		}
		if at == never {
			return invalid.Errorf("at", "a poll begins at some time")
		}
		if e.open > at { // it was cut off when the clock was ahead
			if err := b.remove(&attemptsTable, "source = ? AND began > ?", e.key, int64(at)); err != nil {
				return err
			}
		}
		e.strays = e.strays || e.open != never
		e.open, e.begun, e.dirty = at, at, true
		b.next.latest = max(b.next.latest, at)
		head = e.compare()
		row := []driver.Value{e.key, int64(at), int64(0), int64(at), TextOrNull(host), nil, int64(1)}
		if e.strays { // one of them can be of the same moment
			e.opens, err = b.insertNew(&attemptsTable, row...)
			return err
		}
		e.opens = seal{1, b.sum(&attemptsTable, 0, row)}
		return b.insert(&attemptsTable, row...)
	})
	return head, err
}

// Head implements [freshet.Archive].
func (s *Store) Head(ctx context.Context, id freshet.SourceID) (freshet.Head, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.entries[id]
	if e == nil || e.removed {
		return freshet.Head{}, unknown(id)
	}
	return e.compare(), ctx.Err()
}

// Hop implements [freshet.Archive].
func (s *Store) Hop(ctx context.Context, p freshet.Poll, at time.Time, host string) error {
	return s.write(ctx, "following a redirect", func(b *batch) error {
		e := b.entry(p.Source.ID)
		if e == nil {
			return unknown(p.Source.ID)
		}
		began := int64(MomentOf(p.At))
		last, err := b.Number("SELECT coalesce(max(hop), 0) FROM attempts WHERE source = ? AND began = ?", e.key, began)
		if err != nil {
			return err
		}
		added, err := b.insertNew(&attemptsTable, e.key, began, last+1, int64(MomentOf(at)), host, nil, int64(1))
		if e.opens.upto > 0 && int64(e.open) == began {
			e.opens = e.opens.plus(added)
		}
		return err
	})
}

// Commit implements [freshet.Archive]. A change from nothing is a first
// version.
func (s *Store) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	var found *finding
	if err := fits(r); err != nil {
		return r.Outcome, freshet.Change{}, err
	}
	if r.Capture != nil {
		var err error
		if found, err = s.prepare(ctx, r.Outcome.Source, r.Capture); err != nil {
			return r.Outcome, freshet.Change{}, err
		}
	}
	end, ok := s.endings.Get().(*ending)
	if !ok {
		end = new(ending)
	}
	end.record, end.found = r, found
	err := s.write(ctx, "recording a poll", end.write)
	o, c := end.outcome, end.change
	*end = ending{}
	s.endings.Put(end)
	if err != nil {
		return r.Outcome, freshet.Change{}, err
	}
	return o, c, nil
}

// An ending is a poll that is being recorded. They are large, and used again.
type ending struct {
	record  freshet.Record
	found   *finding
	outcome freshet.Outcome // as it is stored
	change  freshet.Change
}

// write is the job of a Commit.
func (end *ending) write(b *batch) (err error) {
	end.outcome = end.record.Outcome
	end.change, err = b.record(&end.record, end.found, &end.outcome)
	return err
}

// fits returns an error if what a poll stored does not go with how it ended.
func fits(r freshet.Record) error {
	result := r.Outcome.Result
	switch {
	case result.Captured() && r.Capture == nil:
		return invalid.Errorf("capture", "a captured version has a body")
	case r.Capture == nil:
		return nil
	}
	var want freshet.Quiet
	switch result {
	case freshet.Unchanged:
		want = freshet.QuietNoise
	case freshet.Doubted:
		want = freshet.QuietSuspect
	}
	if result == freshet.Failed || r.Capture.Quiet != want {
		return invalid.Errorf("quiet", "a poll that ended as %s stores no version that is quiet by %q", result, r.Capture.Quiet)
	}
	return nil
}

// record writes what a finished poll leaves behind. The outcome becomes what is stored.
func (b *batch) record(r *freshet.Record, f *finding, o *freshet.Outcome) (c freshet.Change, err error) {
	e := b.entry(o.Source)
	if e == nil {
		return c, unknown(o.Source)
	}
	if (o.Result == freshet.Changed || o.Result == freshet.Doubted && f != nil) && e.head == 0 {
		o.Result, o.LookAgain = freshet.First, 0
	}
	current := r.URL == "" || xxhash.Sum64String(r.URL) == e.url // the source has no other URL by now
	stale, c, err := b.take(e, o, f, r.Held, current)
	if err != nil {
		return c, err
	}
	if e.acknowledge(o, f != nil) {
		stale = true
	}
	if o.Result.Seen() {
		e.sums = r.Sums
		if o.Status != http.StatusNotModified {
			e.asked = MomentOf(o.Began)
		}
	}
	validators, moved := r.Validators, r.Moved
	switch {
	case !current:
		validators, moved, e.sums = freshet.Validators{}, freshet.Moved{}, freshet.Sums{}
	case o.Result == freshet.Doubted: // what came is not the page that these are of
		validators, moved = e.validators, e.moved.get()
	case !o.Result.Seen():
		validators = e.validators
	}
	if e.told(validators, moved) {
		stale = true
	}
	if stale {
		if err := b.writeHead(e); err != nil {
			return c, err
		}
	}
	if err := b.append(e, o); err != nil || !current || r.Noise == nil && r.Items == nil {
		return c, err
	}
	for _, belief := range []freshet.Belief{{Estimator: freshet.NoiseBelief, Memory: r.Noise}, {Estimator: freshet.ItemBelief, Memory: r.Items}} {
		if belief.Memory == nil {
			continue
		}
		belief.Source, belief.Upto = o.Source, o.Cursor
		if err := b.saveBelief(belief); err != nil {
			return c, err
		}
	}
	return c, nil
}

// take takes over what a poll saw: a new version that is told of, one that is not, or
// none. It reports whether the head on disk is out of date.
func (b *batch) take(e *entry, o *freshet.Outcome, f *finding, held freshet.Held, current bool) (stale bool, c freshet.Change, err error) {
	stale, o.Version, o.Quiet = f != nil, 0, ""
	switch {
	case o.Result == freshet.Doubted && (current || f != nil):
		if f != nil {
			o.Quiet = freshet.QuietSuspect
		}
		held.Suspect, held.Landed = o.Suspect, o.Landed
		err = b.doubt(e, *o, f, held)
		o.Version = e.held.get().Number
		if !current {
			e.release()
		}
		return true, c, err
	case f != nil:
		c, err = b.capture(e, *o, f)
		if o.Result == freshet.Unchanged {
			o.Quiet = freshet.QuietNoise
		}
	}
	if err != nil || !o.Result.Seen() {
		return stale, c, err
	}
	o.Version = int(e.head)
	if current && e.judged(*o) {
		stale = true
	}
	if e.release() {
		stale = true
	}
	return stale, c, nil
}

// append adds an outcome to the log and to the tally of its source, and ends
// the attempt that it came of.
func (b *batch) append(e *entry, o *freshet.Outcome) error {
	if err := b.beginEpoch(); err != nil {
		return err
	}
	b.next.outcome++
	if err := b.store.cfg.Database.Grow(b.Writer, int64(b.next.outcome)); err != nil {
		return err
	}
	b.unmarked++
	o.Cursor = b.next.outcome
	since, began, ended := MomentOf(o.Since), MomentOf(o.Began), MomentOf(o.Ended)
	o.Since, o.Began, o.Ended = since.Time(), began.Time(), ended.Time()
	o.Modified, o.NotBefore = MomentOf(o.Modified).Time(), MomentOf(o.NotBefore).Time()
	settle(o)
	err := b.appendTo(&outcomesTable, int64(o.Cursor), e.key, int64(e.last), began.Value(), since.until(began), began.until(ended),
		int64(o.Cause), int64(o.Result), int64(o.Version), int64(o.Status), int64(o.Requests), TextOrNull(string(o.Route)), o.Bytes,
		MomentOf(o.Modified).Value(), MomentOf(o.NotBefore).Value(), TextOrNull(string(o.Failure)), TextOrNull(o.Err),
		TextOrNull(string(o.Suspect)), TextOrNull(o.Landed), lengthOrNull(o.FreshFor), TextOrNull(string(o.Quiet)), lengthOrNull(o.LookAgain))
	if err == nil {
		err = b.say(o)
	}
	if err != nil {
		return err
	}
	e.add(o)
	e.dirty = true
	b.next.latest = max(b.next.latest, began)
	b.logged = append(b.logged, *o)
	if e.open == never || e.open > began || o.Cause == freshet.BySharing {
		return nil
	}
	open := e.open
	e.open = never
	return b.endAttempt(e, open)
}

// endAttempt deletes the rows of an attempt. Their checksums are mostly known:
// to ask for them costs as much as all the rest of an unchanged poll.
func (b *batch) endAttempt(e *entry, began Moment) error {
	known := e.opens
	e.opens = seal{}
	if known.upto == 0 || began < b.store.pruned {
		return b.remove(&attemptsTable, "source = ? AND began = ?", e.key, int64(began))
	}
	b.reseal(&attemptsTable, seal{-known.upto, -known.value})
	return b.Do("DELETE FROM attempts WHERE source = ? AND began = ?", e.key, int64(began))
}
