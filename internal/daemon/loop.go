package daemon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A loop is how the parts of a daemon reach the scheduling loop, whether it runs, and the
// clock that it goes by. It holds the events that the scheduler has not read yet:
// posting one never blocks.
type loop struct {
	dates   *dates
	gauges  gauges
	running atomic.Bool
	fatal   chan error // ends the run

	mu     sync.Mutex
	events []sched.Event
	posted chan struct{} // has one element if there may be an event
}

func newLoop(wall func() time.Time) *loop {
	return &loop{dates: newDates(wall), fatal: make(chan error, 1), posted: make(chan struct{}, 1)}
}

// post adds events.
func (l *loop) post(events ...sched.Event) {
	l.mu.Lock()
	l.events = append(l.events, events...)
	l.mu.Unlock()
	signal(l.posted)
}

// signal sends on a channel of capacity one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pop removes and returns the next event.
func (l *loop) pop() (sched.Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 {
		return nil, false
	}
	ev := l.events[0]
	l.events = l.events[1:]
	return ev, true
}

// peek returns the next event.
func (l *loop) peek() (sched.Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 {
		return nil, false
	}
	return l.events[0], true
}

// clear removes all events.
func (l *loop) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = nil
}

// call has the loop run a function while nothing else happens, and returns when it has.
func (l *loop) call(ctx context.Context, f func(now time.Time, s *sched.Scheduler)) error {
	done := make(chan struct{})
	l.post(sched.Call(func(now time.Time, s *sched.Scheduler) {
		defer close(done)
		f(now, s)
	}))
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail ends the run with an error.
func (l *loop) fail(err error) {
	select {
	case l.fatal <- err:
	default: // it ends already
	}
}

// A world is one run of the loop of package sched in the daemon.
type world struct {
	*loop
	poller  *poller
	polling sync.WaitGroup  // goroutines that make polls
	stop    <-chan struct{} // closed when no more polls are to begin
	timer   *time.Timer
	burst   int // edits and requested polls handled since the last decision

	next chan begunPoll // to a goroutine without a poll
	over chan struct{}  // closed when no poll will begin any more
}

// A begunPoll is a poll to make, with its context.
type begunPoll struct {
	ctx  context.Context
	poll freshet.Poll
}

func newWorld(l *loop, p *poller, stop <-chan struct{}) *world {
	return &world{loop: l, poller: p, stop: stop, next: make(chan begunPoll), over: make(chan struct{})}
}

var errStopped = errors.New("asked to stop")

// Now implements [sched.World].
func (w *world) Now() time.Time { return w.dates.Now() }

// Begin implements [sched.World]. A goroutine that has made a poll makes the next
// one: its stack has already grown to what a poll needs, and growing it costs as
// much as the decision to poll.
func (w *world) Begin(ctx context.Context, p freshet.Poll) {
	w.gauges.underWay.Add(1)
	select {
	case w.next <- begunPoll{ctx, p}:
	default:
		w.startGoroutine(ctx, p)
	}
}

// startGoroutine starts a goroutine with its first poll. Inlined in Begin, its closure
// would be allocated for every poll.
//
//go:noinline
func (w *world) startGoroutine(ctx context.Context, p freshet.Poll) {
	w.polling.Go(func() { w.makePolls(begunPoll{ctx, p}) })
}

// makePolls makes polls until there will be no more.
func (w *world) makePolls(b begunPoll) {
	for {
		w.poller.poll(b.ctx, b.poll, w.stop)
		w.gauges.underWay.Add(-1)
		select {
		case b = <-w.next:
		case <-w.over:
			return
		}
	}
}

// Wait implements [sched.World].
func (w *world) Wait(ctx context.Context, alarm time.Time) (ev sched.Event, more bool, err error) {
	var rings <-chan time.Time
	w.gauges.setAlarm(alarm)
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
		if ev, ok := w.pop(); ok {
			return ev, w.more(ev), nil
		}
		select {
		case <-w.posted:
		case <-rings:
			w.gauges.woke(w.Now().Sub(alarm))
			return nil, false, nil
		case <-w.stop:
		case err := <-w.fatal:
			return nil, false, err
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// mostAtOnce is how many edits and requested polls that came together are handled before the next
// decision.
const mostAtOnce = 1000

// more reports whether another edit or requested poll is to be handled after ev and before the next
// decision.
func (w *world) more(ev sched.Event) bool {
	if w.burst++; w.burst < mostAtOnce && isEdit(ev) {
		if next, ok := w.peek(); ok && isEdit(next) {
			return true
		}
	}
	w.burst = 0
	return false
}

// isEdit reports whether an event is an edit or a requested poll, of which many may come
// at once.
func isEdit(ev sched.Event) bool {
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
