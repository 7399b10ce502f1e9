package store

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
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
	open  Moment // when it began; never if there is none
	ended Moment // what begun would be without it, when it was read
	opens seal   // its rows; none if they are not known
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
	recent      seldom[recent]
}

// A name is how changes call a source.
type name struct {
	label  int64          // of the source as it is now, or zero
	called *freshet.Label // what it says, if that has been read
	heard  int64          // revision of the site when it was
}

// An entry is what the writing process remembers of a source, so that a poll
// can be recorded without reading anything.
type entry struct {
	key  int64
	id   freshet.SourceID
	url  uint64 // XXH64 of the URL
	site int64  // that it is a page of; 0 if none
	face *face  // of a source that was written, until the roll has it

	tally
	attempt
	headVersion
	name

	before seldom[tombstone] // the last numbers of sources with this ID that were purged

	changes   int64
	changed   freshet.Cursor // of the newest change
	changedAt Moment         // when it was seen

	// What the URL says of itself.
	validators freshet.Validators
	asked      Moment       // when the source was last asked for without validators
	sums       freshet.Sums // of what was last seen; not on disk
	moved      seldom[freshet.Moved]
	suspect    freshet.Suspect
	landed     string
	held       seldom[freshet.Held]
	quiets     seldom[freshet.Quiets]

	// Together these take less room.
	place     int32 // in the roll
	removed   bool
	dirty     bool // the tally is newer than the standings table
	strays    bool // there may be attempts before the open one, without outcomes
	confirmed bool // somebody did so with what was held, and no poll has seen the version since
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
func (e *entry) standing() freshet.Standing {
	st := freshet.Standing{
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

// quieted counts versions that were kept and not told.
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

// told takes over what the URL of a source told of itself, and reports whether that
// is news.
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
