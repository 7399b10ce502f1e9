package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A world is one run of a Daemon, as the loop of package sched sees it.
type world struct {
	*Daemon
	stop  <-chan struct{} // closed when no more polls are to begin
	timer *time.Timer
	burst int // edits and requested polls told since the last decision

	next chan errand   // to a worker that has nothing to do
	over chan struct{} // closed when no poll will begin any more
}

// An errand is a poll to be made.
type errand struct {
	ctx  context.Context
	poll freshet.Poll
}

func newWorld(d *Daemon, stop <-chan struct{}) *world {
	return &world{Daemon: d, stop: stop, next: make(chan errand), over: make(chan struct{})}
}

var errStopped = errors.New("asked to stop")

// Now implements [sched.World].
func (w *world) Now() time.Time { return w.dates.Now() }

// Begin implements [sched.World]. A worker that has made a poll makes the next
// one: its stack has already grown to what a poll needs, and growing it costs as
// much as the decision to poll.
func (w *world) Begin(ctx context.Context, p freshet.Poll) {
	w.gauges.flying.Add(1)
	select {
	case w.next <- errand{ctx, p}:
	default:
		w.hire(ctx, p)
	}
}

// hire starts a worker with its first poll. Within Begin it would make room for every poll.
//
//go:noinline
func (w *world) hire(ctx context.Context, p freshet.Poll) {
	w.flying.Go(func() { w.work(errand{ctx, p}) })
}

// work makes polls until there will be no more.
func (w *world) work(e errand) {
	for {
		w.poll(e.ctx, e.poll, w.stop)
		w.gauges.flying.Add(-1)
		select {
		case e = <-w.next:
		case <-w.over:
			return
		}
	}
}

// Wait implements [sched.World].
func (w *world) Wait(ctx context.Context, alarm time.Time) (ev sched.Event, more bool, err error) {
	var rings <-chan time.Time
	if !alarm.IsZero() {
		rings = w.ringAt(alarm)
	}
	for {
		select {
		case <-w.stop:
			return nil, false, errStopped
		case err := <-w.fatal:
			return nil, false, err
		default:
		}
		if ev, ok := w.inbox.take(); ok {
			return ev, w.more(ev), nil
		}
		select {
		case <-w.inbox.bell:
		case <-rings:
			w.gauges.rang(w.Now().Sub(alarm))
			return nil, false, nil
		case <-w.stop:
		case err := <-w.fatal:
			return nil, false, err
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// mostAtOnce is how many edits and requested polls that came together are told before the
// next decision.
const mostAtOnce = 1000

// more reports whether another edit or wish is to be told before the next decision,
// after ev.
func (w *world) more(ev sched.Event) bool {
	if w.burst++; w.burst < mostAtOnce && wished(ev) {
		if next, ok := w.inbox.first(); ok && wished(next) {
			return true
		}
	}
	w.burst = 0
	return false
}

// wished reports whether an event is what somebody wants of sources, of which many
// may come at once.
func wished(ev sched.Event) bool {
	switch ev.(type) {
	case sched.SourcePut, sched.SourceRemoved, sched.PollRequested, sched.Push, sched.Weight:
		return true
	}
	return false
}

// ringAt sets the one timer.
func (w *world) ringAt(alarm time.Time) <-chan time.Time {
	if until := alarm.Sub(w.Now()); w.timer == nil {
		w.timer = time.NewTimer(until)
	} else {
		w.timer.Reset(until)
	}
	return w.timer.C
}

// An inbox holds what has happened and has not been told to the loop yet. It
// never blocks those who post.
type inbox struct {
	mu     *sync.Mutex
	events *[]sched.Event
	bell   chan struct{} // holds one ring
}

func newInbox() inbox {
	return inbox{mu: new(sync.Mutex), events: new([]sched.Event), bell: make(chan struct{}, 1)}
}

func (b inbox) post(events ...sched.Event) {
	b.mu.Lock()
	*b.events = append(*b.events, events...)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

func (b inbox) take() (sched.Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(*b.events) == 0 {
		return nil, false
	}
	ev := (*b.events)[0]
	*b.events = (*b.events)[1:]
	return ev, true
}

// first returns what take would, and leaves it there.
func (b inbox) first() (sched.Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(*b.events) == 0 {
		return nil, false
	}
	return (*b.events)[0], true
}

func (b inbox) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.events = nil
}

// asks are people waiting for the outcome of a poll they asked for.
type asks struct {
	mu      sync.Mutex
	waiting map[freshet.SourceID][]chan freshet.Outcome
}

func (a *asks) wait(id freshet.SourceID) chan freshet.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[freshet.SourceID][]chan freshet.Outcome{}
	}
	c := make(chan freshet.Outcome, 1)
	a.waiting[id] = append(a.waiting[id], c)
	return c
}

func (a *asks) leave(id freshet.SourceID, c chan freshet.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := a.waiting[id][:0]
	for _, other := range a.waiting[id] {
		if other != c {
			rest = append(rest, other)
		}
	}
	if a.waiting[id] = rest; len(rest) == 0 {
		delete(a.waiting, id)
	}
}

func (a *asks) answer(o freshet.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.waiting[o.Source] {
		select {
		case c <- o:
		default: // answered already
		}
	}
}
