package lab

import (
	"context"
	"io"
	"time"

	"freshet"
	"freshet/sched"
)

// An Edit is something other than a poll that happens in a trace.
type Edit struct {
	At time.Time
	sched.Event
}

// A World replays a trace in virtual time. It implements [sched.World].
type World struct {
	trace *Trace
	now   time.Time
	edits []Edit
	ends  []freshet.Outcome        // polls under way, in the order of their ends
	held  map[freshet.SourceID]int // the version that was last seen of each source
	found func(freshet.Outcome)
}

// NewWorld returns a World at the start of a trace. Every outcome is shown to
// found, if that is not nil, when it happens.
func NewWorld(t *Trace, found func(freshet.Outcome)) *World {
	return &World{trace: t, now: t.Start, edits: t.Edits, held: map[freshet.SourceID]int{}, found: found}
}

// Now implements [sched.World].
func (w *World) Now() time.Time { return w.now }

// Begin implements [sched.World]. What the poll will find is looked up at once,
// and told when it ends.
func (w *World) Begin(_ context.Context, p freshet.Poll) {
	o := freshet.Outcome{
		Source: p.Source.ID, Cause: p.Cause, Since: p.Since,
		Began: w.now, Ended: w.now.Add(w.trace.Latency), Requests: 1,
	}
	version := w.trace.versionAt(o.Source, w.now)
	switch held := w.held[o.Source]; {
	case held == 0:
		o.Result = freshet.First
	case held != version:
		o.Result = freshet.Changed
	}
	if w.trace.Answer != nil {
		w.trace.Answer(p, &o)
	}
	if o.Result.Seen() {
		w.held[o.Source], o.Version = version, version
	}
	at := len(w.ends)
	for at > 0 && w.ends[at-1].Ended.After(o.Ended) {
		at--
	}
	w.ends = append(w.ends, freshet.Outcome{})
	copy(w.ends[at+1:], w.ends[at:])
	w.ends[at] = o
}

// Wait implements [sched.World].
func (w *World) Wait(_ context.Context, alarm time.Time) (sched.Event, error) {
	next, kind := w.trace.End, 'e'
	consider := func(at time.Time, k rune) {
		if at.Before(next) {
			next, kind = at, k
		}
	}
	if !alarm.IsZero() {
		consider(alarm, 'a')
	}
	if len(w.edits) > 0 {
		consider(w.edits[0].At, 'd')
	}
	if len(w.ends) > 0 {
		consider(w.ends[0].Ended, 'o')
	}
	if next.After(w.now) {
		w.now = next
	}
	switch kind {
	case 'o':
		o := w.ends[0]
		w.ends = w.ends[1:]
		if w.found != nil {
			w.found(o)
		}
		return sched.Event{Outcome: &o}, nil
	case 'd':
		ev := w.edits[0].Event
		w.edits = w.edits[1:]
		delete(w.held, ev.Remove) // a source that comes back begins anew
		return ev, nil
	case 'a':
		return sched.Event{}, nil
	}
	return sched.Event{}, io.EOF
}
