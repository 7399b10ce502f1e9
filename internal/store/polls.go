package store

import (
	"context"
	"database/sql/driver"
	"math"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/invalid"
)

// A tally is what the outcomes of a source add up to.
type tally struct {
	begun     Moment
	seen      Moment
	notBefore Moment
	failures  int32
	requests  int32
	failure   failure.Class
	err       string
	route     freshet.Route
	polls     int64
	last      freshet.Cursor // of the newest outcome
	fresh     Moment         // until when the server says that the source stays as it is
}

// longestAway is longer than any host can send us away.
const longestAway = Moment(30 * time.Hour)

// add brings the tally up to date with one more outcome.
func (t *tally) add(o *freshet.Outcome) {
	began := MomentOf(o.Began)
	t.begun = began                   // which may lie before the last, if the clock was set back
	if o.Cause != freshet.BySharing { // then it says nothing of what a poll takes
		t.requests, t.route = int32(min(o.Requests, math.MaxInt32)), o.Route
	}
	t.polls++
	t.last = o.Cursor
	switch {
	case !o.NotBefore.IsZero():
		t.notBefore = MomentOf(o.NotBefore)
	case t.failure.Is(failure.RedirectTarget): // which held back this source alone, until now
		t.notBefore = never
	case t.notBefore <= began, t.notBefore > began+longestAway: // the clock was ahead when it was asked for
		t.notBefore = never
	}
	if o.Result.Seen() {
		t.fresh = MomentOf(o.FreshUntil())
		t.seen = began
		t.failures, t.failure, t.err = 0, "", ""
		return
	}
	if o.Result == freshet.Doubted { // the server answered
		t.failures, t.failure, t.err = 0, "", ""
		return
	}
	if !o.Failure.Ours() {
		t.failures++
	}
	t.failure, t.err = o.Failure, o.Err
}

// An attempt is the newest attempt of a source without an outcome.
type attempt struct {
	open  Moment   // when it began; never if there is none
	ended Moment   // what begun would be without it, when it was read
	opens tableSum // its rows; none if they are not known
}

// A headVersion is the newest version of a source that is not held, and what the next version is
// numbered after and encoded against.
type headVersion struct {
	first       int64  // number of the oldest version that is kept; 0 if there is none
	head        int64  // its number
	newest      int64  // number of the newest version, if that is above the head
	recipe      string // that it was read with
	hash        freshet.Hash
	text, raw   int64 // its bodies
	envelope    int64
	envelopeSum uint64 // to tell whether the next one has the same
	title       string // in lower case
	recent      optional[recent]
}

// A name is how changes call a source.
type name struct {
	label        int64          // of the source as it is now, or zero
	called       *freshet.Label // what it says, if that has been read
	siteRevision int64          // revision of the site when it was
}

// An entry is what the writing process remembers of a source, so that a poll
// can be recorded without reading anything.
type entry struct {
	key  int64
	id   freshet.SourceID
	url  uint64    // XXH64 of the URL
	site int64     // that it is a page of; 0 if none
	row  *indexRow // of a source that was written, until the index has it

	tally
	attempt
	headVersion
	name

	before optional[tombstone] // the last numbers of sources with this ID that were purged

	changes   int64
	changed   freshet.Cursor // of the newest change
	changedAt Moment         // when it was seen

	// What the URL says of itself.
	validators freshet.Validators
	asked      Moment       // when the source was last asked for without validators
	sums       freshet.Sums // of what was last seen; not on disk
	moved      optional[freshet.Moved]
	suspect    suspect.Class
	landed     string
	held       optional[freshet.Held]
	quiets     optional[freshet.Quiets]

	headSum int64 // checksum of the row that writeHead writes, as it was when the entry was read

	// Together these take less room.
	place     int32 // in the index
	removed   bool
	dirty     bool // the tally is newer than the standings table
	strays    bool // there may be attempts before the open one, without outcomes
	confirmed bool // the held version was accepted, and no poll has seen it since
	belied    bool // the source changed while the server said that it would not
}

// newEntry returns the entry of a source that has no history.
func newEntry(key int64, id freshet.SourceID) *entry {
	return &entry{
		key: key, id: id, asked: never, changedAt: never,
		attempt: attempt{open: never}, tally: tally{begun: never, seen: never, notBefore: never, fresh: never},
	}
}

// standing returns the part of a Standing that the tally holds.
func (e *entry) standing() freshet.Status {
	st := freshet.Status{
		Upto:      e.last,
		Begun:     e.begun.Time(),
		Seen:      e.seen.Time(),
		NotBefore: e.notBefore.Time(),
		Failures:  int(e.failures),
		Failure:   e.failure,
		Err:       e.err,
		Requests:  int(e.requests),
		Route:     e.route,
		Moved:     e.moved.get(),
		Polls:     e.polls,
		Suspect:   e.suspect,
		Landed:    e.landed,
		Fresh:     e.fresh.Time(),
		Belied:    e.belied,
		Held:      e.held.get(),
		Quiets:    e.quiets.get(),
	}
	if st.Held.Number != 0 {
		st.Suspect, st.Landed = st.Held.Suspect, st.Held.Landed
	}
	return st
}

// note notes the text of a new version.
func (e *entry) note(number int64, text freshet.Hash) {
	r := e.recent.get()
	r.add(number, text)
	e.recent.set(r)
}

// quieted counts versions that were stored without a change.
func (e *entry) quieted(suspect, noise int) {
	q := e.quiets.get()
	e.quiets.set(freshet.Quiets{Suspect: q.Suspect + suspect, Noise: q.Noise + noise})
}

// lastVersion returns the last number that a version with this ID had.
func (e *entry) lastVersion() int64 { return max(e.head, e.newest, e.before.get().version) }

// lastChange returns the last number that a change with this ID had.
func (e *entry) lastChange() int64 { return max(e.changes, e.before.get().change) }

// compare returns what the next poll compares with.
func (e *entry) compare() freshet.Head {
	return freshet.Head{
		Number: int(e.head), Hash: e.hash, Recipe: e.recipe,
		Validators: e.validators, Asked: e.asked.Time(), Sums: e.sums, Moved: e.moved.get(),
		Suspect: e.suspect, Landed: e.landed, Held: e.held.get(), Polls: e.polls,
	}
}

// told takes over what the response said of the URL of a source, and reports whether that is new.
func (e *entry) told(v freshet.Validators, m freshet.Moved) bool {
	m.At = MomentOf(m.At).Time()
	news := v != e.validators || m != e.moved.get()
	e.validators = v
	e.moved.set(m)
	return news
}

// judged takes over what a poll that saw the source makes of it and of what its
// server said before, and reports whether that is news.
func (e *entry) judged(o freshet.Outcome) bool {
	belied := e.belied || o.Belies(e.fresh.Time())
	news := o.Suspect != e.suspect || o.Landed != e.landed || belied != e.belied
	e.suspect, e.landed, e.belied = o.Suspect, o.Landed, belied
	return news
}

// Begin implements [freshet.Archive].
func (s *Store) Begin(ctx context.Context, p freshet.Poll) (head freshet.Head, err error) {
	id, at, host := p.Source.ID, MomentOf(p.At), p.Host // all that it needs of a large p
	err = s.writePoll(ctx, "beginning a poll", func(b *batch) error {
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
		e.opens = tableSum{1, b.sum(&attemptsTable, 0, row)}
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
	return s.writePoll(ctx, "following a redirect", func(b *batch) error {
		if p.Source.ID == "" {
			return putVisit(b, p.At, at, host)
		}
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

// putVisit puts a request on record that is of no source, as those of purged sources are.
func putVisit(b *batch, began, at time.Time, host string) error {
	last, err := b.Number("SELECT coalesce(max(hop), 0) FROM attempts WHERE source = 0 AND began = ?", int64(MomentOf(began)))
	if err != nil {
		return err
	}
	_, err = b.insertNew(&attemptsTable, int64(0), int64(MomentOf(began)), last+1, int64(MomentOf(at)), host, nil, int64(1))
	return err
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
	err := s.writePoll(ctx, "recording a poll", end.write)
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
	for _, belief := range []freshet.State{{Key: freshet.NoiseState, Value: r.Noise}, {Key: freshet.ItemState, Value: r.Items}} {
		if belief.Value == nil {
			continue
		}
		belief.Source, belief.Upto = o.Source, o.Cursor
		if err := b.saveState(belief); err != nil {
			return c, err
		}
	}
	return c, nil
}

// take takes over what a poll saw: a new version with a change, one without, or none. It reports
// whether the head on disk is out of date.
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
	e.opens = tableSum{}
	if known.upto == 0 || began < b.store.pruned {
		return b.remove(&attemptsTable, "source = ? AND began = ?", e.key, int64(began))
	}
	b.count(&attemptsTable, tableSum{-known.upto, -known.value})
	return b.Do("DELETE FROM attempts WHERE source = ? AND began = ?", e.key, int64(began))
}
