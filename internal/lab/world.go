package lab

import (
	"context"
	"io"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// An Edit is something other than a poll that happens in a replay: a source
// comes or goes, a poll is requested, or the limits change.
type Edit struct {
	At    time.Time
	Event sched.Event
}

// A world is a history in virtual time. It implements [sched.World]. On a grid
// its time stands only at the ends of instants; otherwise it stands wherever
// something happens.
type world struct {
	grid    *Grid
	options *Options
	scorer  *Scorer
	truth   truth

	now     time.Time
	instant int // in which now falls, or at whose end
	end     time.Time

	held  []int32 // by page: the version that was last seen; 0 if none was
	edits []Edit
	ends  []freshet.Outcome // polls that have begun, in the order of their ends
	told  int               // how many of those have been reported

	cursor freshet.Cursor // of the last outcome

	indexes *indexes // nil if there are none
	asks    asks     // for polls of them

	meets time.Time          // when this brain next hears from the others; zero if there are none
	meet  func() sched.Event // what it hears then
}

// newWorld returns a world at the beginning of its time, in which every page
// has been seen.
func newWorld(g *Grid, o *Options) *world {
	w := &world{grid: g, options: o, edits: o.Edits, held: make([]int32, len(g.pages)), end: g.Time(g.Instants)}
	if o.Continuous {
		w.now = g.Start
		w.truth = truth{grid: g, times: g.raw()}
		w.scorer = newContinuousScorer(g, w.truth.times, o.Weights, o.Measures)
	} else {
		w.instant, w.now = 1, g.Time(1)
		w.truth = truth{grid: g}
		w.scorer = NewScorer(g, o.Weights, o.Measures)
	}
	w.truth.begin()
	if !o.Unseen {
		for page := range w.held {
			w.held[page] = w.truth.version(page, 0, g.Start)
		}
	}
	return w
}

// Now implements [sched.World].
func (w *world) Now() time.Time { return w.now }

// Begin implements [sched.World]. A poll sees the page as it is when the poll
// begins, and so do the sources that are read along with it.
func (w *world) Begin(_ context.Context, p freshet.Poll) {
	w.look(p, 1)
	for _, c := range p.Along {
		w.look(freshet.Poll{Source: c.Source, At: p.At, Since: c.Since, Cause: freshet.BySharing}, 0)
	}
}

// look makes a poll that takes so many requests.
func (w *world) look(p freshet.Poll, requests int) {
	page, ok := w.grid.Page(p.Source.ID)
	if x := w.indexes.named(p.Source.ID); x != nil {
		w.read(x, p, requests)
		return
	}
	if !ok {
		panic("a poll of a page that is not on the grid: " + string(p.Source.ID))
	}
	o := w.begin(p, requests)
	version := w.truth.version(page, w.instant, w.now)
	switch held := w.held[page]; {
	case held == 0:
		o.Result = freshet.First
	case held != version:
		o.Result = freshet.Changed
	}
	w.show(page, o)
	w.options.fail(w.grid, page, o)
	if w.options.Answer != nil {
		w.options.Answer(p, o)
	}
	if o.Result.Seen() {
		w.held[page], o.Version = version, int(version)
		w.score(page)
	} else {
		o.Modified, o.Dates, o.Foretold = time.Time{}, nil, nil
		w.scorer.miss()
	}
	w.sort()
}

// begin notes a poll that begins now.
func (w *world) begin(p freshet.Poll, requests int) *freshet.Outcome {
	w.ends = append(w.ends, freshet.Outcome{Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: w.now, Ended: w.now, Requests: requests})
	o := &w.ends[len(w.ends)-1]
	if w.options.Latency > 0 {
		o.Ended = w.next(w.now.Add(w.options.Latency))
	}
	return o
}

// score counts a poll that saw its page.
func (w *world) score(page int) {
	moment := float64(w.instant)
	if w.options.Continuous {
		moment = w.grid.instants(w.now)
	}
	changed := w.scorer.poll(page, moment, w.instant)
	if w.options.Look != nil {
		w.options.Look(page, w.instant, changed)
	}
}

// sort moves the poll that began last to its place in the order of ends.
func (w *world) sort() {
	for at := len(w.ends) - 1; at > w.told && w.ends[at-1].Ended.After(w.ends[at].Ended); at-- {
		w.ends[at-1], w.ends[at] = w.ends[at], w.ends[at-1]
	}
}

// next returns when something that is set for t happens: on a grid, at the end
// of the instant.
func (w *world) next(t time.Time) time.Time {
	if w.options.Continuous {
		return t
	}
	return w.grid.Time(w.grid.InstantOf(t))
}

// Wait implements [sched.World]. Of what falls on one moment the ends of polls
// come first, then edits, then the alarm.
func (w *world) Wait(ctx context.Context, alarm time.Time) (ev sched.Event, more bool, err error) {
	if w.told < len(w.ends) && !w.ends[w.told].Ended.After(w.now) {
		return w.tell(), false, nil
	}
	if w.told == len(w.ends) {
		w.ends, w.told = w.ends[:0], 0
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	edit, edited := w.nextEdit()
	ended := w.told < len(w.ends)
	if !alarm.IsZero() {
		alarm = w.next(alarm)
		ended = ended && !w.ends[w.told].Ended.After(alarm)
		edited = edited && !edit.After(alarm)
	}
	if ended && edited {
		edited = edit.Before(w.ends[w.told].Ended)
		ended = !edited
	}
	at := alarm
	switch {
	case ended:
		at = w.ends[w.told].Ended
	case edited:
		at = edit
	}
	if at.IsZero() || at.After(w.end) {
		return nil, false, io.EOF
	}
	w.pass(at)
	switch {
	case ended:
		return w.tell(), false, nil
	case edited:
		ev, more = w.edit()
		return ev, more, nil
	}
	return nil, false, nil
}

// tell reports the next poll that has ended.
func (w *world) tell() sched.Event {
	o := &w.ends[w.told]
	w.told++
	w.cursor++
	o.Cursor = w.cursor
	if w.options.Observe != nil {
		w.options.Observe(*o)
	}
	return sched.PollEnded{Outcome: o}
}

// nextEdit returns when the next edit comes, an index is requested, or brains meet.
func (w *world) nextEdit() (at time.Time, ok bool) {
	at, ok = w.wish()
	if w.isMeeting(at, ok) {
		return w.meets, true
	}
	return at, ok
}

// isMeeting reports whether brains meet before anything that is wished for at a time. What
// they agree on comes before all else of that moment.
func (w *world) isMeeting(at time.Time, ok bool) bool {
	return !w.meets.IsZero() && (!ok || !w.meets.After(at))
}

// wish returns when the next edit comes, or an index is requested.
func (w *world) wish() (at time.Time, ok bool) {
	switch asked := w.asks.at; {
	case len(w.edits) > 0 && (asked.IsZero() || !w.edits[0].At.After(asked)):
		return w.edits[0].At, true
	default:
		return asked, !asked.IsZero()
	}
}

// edit makes the next edit, and reports whether another belongs to it.
func (w *world) edit() (ev sched.Event, more bool) {
	if w.isMeeting(w.wish()) {
		w.meets = w.meets.Add(w.grid.Instant)
		return w.meet(), false
	}
	if len(w.edits) == 0 || !w.asks.at.IsZero() && w.asks.at.Before(w.edits[0].At) {
		return w.ask()
	}
	ev = w.edits[0].Event
	w.edits = w.edits[1:]
	if gone, ok := ev.(sched.SourceRemoved); ok {
		if page, ok := w.grid.Page(gone.Source); ok {
			w.held[page] = 0 // a source that comes back starts from nothing
		}
	}
	return ev, false
}

// pass lets time pass up to a moment. It never runs backwards.
func (w *world) pass(to time.Time) {
	if !to.After(w.now) {
		return
	}
	w.now = to
	if j := w.grid.InstantOf(to); j > w.instant {
		w.instant = j
		if w.options.Progress != nil {
			w.options.Progress(j)
		}
	}
}
