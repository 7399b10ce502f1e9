package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sinks"
)

const (
	readLimit  = 500 // entries taken off the stream at once
	maxRefused = 100 // deliveries refused again before a release is called off
)

// errGone means that the endpoint wants no more deliveries.
var errGone = errors.New("the endpoint is gone")

// A round is one run of a Follower. All its fields belong to the goroutine of
// run; attempts and the listener only send on channels.
type round struct {
	*Follower
	clock *clock.Clock   // the gate and all alarms go by its steady time
	ahead time.Duration  // how far the dates in the store are ahead of it
	at    freshet.Cursor // everything up to here has a delivery or is not wanted
	kept  freshet.Cursor // the place that is on record
	since time.Time      // when it was put there

	// until is where the stream ended when the round began. Deliveries up to there, from
	// before a replay, waits until the place on record has passed it.
	until freshet.Cursor

	gate gate

	subscription *subscription // wakes the round for what the sink wants; nil if everything does

	condition sinks.Condition // of the receiver, as it is on record
	failed    bool            // a delivery failed before the round, and none was accepted since

	// Deliveries are read when there may be others than before: there is a new one or one was
	// concluded, or the alarm rang that was set then.
	look  bool
	alarm time.Time

	flying map[sinks.Position]bool // attempts under way
	done   chan attempt
	flight sync.WaitGroup

	listening bool
	news      chan error // there is an entry after at, or why that is not known

	// What has to wait for earlier deliveries of its source or query is no attempt at an
	// endpoint that fails. Probe is set when there is one: what is first in line is tried
	// once more than its schedule says, so that a recovery is seen.
	probe bool

	// After an endpoint has recovered all its deliveries are tried at once, and
	// not only those that are due. Refused are those that failed again.
	released bool
	refused  map[sinks.Position]bool
	wrong    map[sinks.Position]int // how often in a row the receiver called a delivery wrong
}

// An attempt is the result of an attempt at a delivery.
type attempt struct {
	delivery sinks.PendingDelivery
	node     string // that made it
	took     time.Duration
	err      error

	extra bool // it is outside the schedule of the delivery
}

func newRound(f *Follower, at freshet.Cursor) *round {
	return &round{
		Follower: f,
		clock:    clock.New(f.cfg.Now),
		at:       at,
		kept:     at,
		look:     true,
		flying:   map[sinks.Position]bool{},
		done:     make(chan attempt, f.cfg.Workers),
		news:     make(chan error, 1),
	}
}

// run reads the stream, makes the attempts that are due and waits for what
// happens next, until ctx is done.
func (r *round) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx) // ends attempts and the listener with the run
	defer cancel()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	for {
		if err := r.followClock(ctx); err != nil {
			return err
		}
		more, err := r.read(ctx)
		if err != nil {
			return err
		}
		if r.look {
			r.look = false
			if r.alarm, err = r.pay(ctx); err != nil {
				return err
			}
		}
		alarm := r.alarm
		if more {
			alarm = r.clock.Now()
		} else {
			r.listen(ctx)
		}
		if err := r.await(ctx, alarm); err != nil {
			return err
		}
	}
}

// read takes the next entries off the stream and records a delivery for each that is wanted. It
// reports whether there may be more.
func (r *round) read(ctx context.Context) (more bool, err error) {
	end, err := r.end(ctx)
	if err != nil {
		return false, fmt.Errorf("end of what sink %s follows: %w", r.cfg.Name, err)
	}
	if wanted, err := r.pass(ctx); err != nil || !wanted || end <= r.at {
		return false, err
	}
	p, err := r.Follower.read(ctx, r.at)
	if err != nil {
		return false, fmt.Errorf("what comes after %d for sink %s: %w", r.at, r.cfg.Name, err)
	}
	if p.to == 0 {
		return false, r.keep(ctx, max(r.at, end), nil) // past entries that were purged, which would ring for ever
	}
	var added []sinks.NewDelivery
	for _, d := range p.wanted {
		m := sinks.NewDelivery{Cursor: d.Position().Cursor, Event: d.Event, InOrder: true}
		err := r.render(ctx, &d)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.Is(err, freshet.ErrStorage): // the message waits until the database can be read
			return false, fmt.Errorf("what sink %s is sent of change %d: %w", r.cfg.Name, m.Cursor, err)
		case errors.Is(err, sinks.ErrIrrelevant):
			r.cfg.Log.Info("a message is not sent", "event", d.Event, "reason", err)
		default:
			if err != nil {
				d.Body, m.Err = nil, err.Error()
				r.unfit(d, err)
			}
			m.Body, m.Source = d.Body, d.Source
			added = append(added, m)
		}
		if r.cfg.OneByOne && m.Cursor < p.to {
			p.to, p.full = m.Cursor, true
			break
		}
	}
	if err := r.keep(ctx, p.to, added); err != nil {
		return false, err
	}
	r.look = r.look || len(added) > 0
	r.probe = r.probe || len(added) > 0 && (r.gate.failures >= patience || r.failed)
	return p.full, nil
}

// pass goes on over what the sink does not want, as far as the board has read it, and reports
// whether there may be something after that which it wants.
func (r *round) pass(ctx context.Context) (wanted bool, err error) {
	if r.subscription == nil {
		return true, nil
	}
	if r.at, wanted = r.subscription.advance(); r.at == r.kept || r.kept >= r.until && r.clock.Now().Sub(r.since) < keepIdle {
		return wanted, nil
	}
	return wanted, r.record(ctx, r.at, nil)
}

// moved notes that all up to a place has been read.
func (r *round) moved(to freshet.Cursor) {
	if r.at = to; r.subscription != nil {
		r.subscription.read(to)
	}
}

// keepEvery is how long a place may stay off the record as long as there is no delivery. After a crash
// what was not wanted is looked at again, which changes nothing.
const keepEvery = 5 * time.Second

// keep moves the round on and records its deliveries.
func (r *round) keep(ctx context.Context, to freshet.Cursor, more []sinks.NewDelivery) error {
	if len(more) == 0 && r.kept >= r.until && r.clock.Now().Sub(r.since) < keepEvery && to-r.kept < readLimit {
		r.moved(to)
		return nil
	}
	return r.record(ctx, to, more)
}

// record moves the round on and puts its place on record, with its deliveries.
func (r *round) record(ctx context.Context, to freshet.Cursor, more []sinks.NewDelivery) error {
	err := r.persist(ctx, "place", func() error { return r.advance(ctx, to, more) })
	if err == nil {
		r.moved(to)
		r.look = r.look || r.kept < r.until
		r.kept, r.since = to, r.clock.Now()
	}
	return err
}

// pay begins the attempts that may be made now, and returns when to look again
// although nothing has happened; zero means not before something has.
func (r *round) pay(ctx context.Context) (alarm time.Time, err error) {
	now := r.clock.Now()
	width := r.gate.width(now, r.cfg.Workers)
	if width == 0 {
		return r.gate.opens, nil
	}
	free := width - len(r.flying)
	if free <= 0 {
		return time.Time{}, nil
	}
	pending, next, err := r.cfg.Store.DueDeliveries(ctx, r.cfg.Name, r.horizon(now.Add(r.ahead)), free+len(r.flying)+len(r.refused))
	if err != nil {
		return time.Time{}, fmt.Errorf("pending deliveries of sink %s: %w", r.cfg.Name, err)
	}
	for _, d := range pending {
		if free == 0 {
			return time.Time{}, nil
		}
		// What was refused again waits for its own time, also in a release that does not
		// end because the sink is never idle.
		if r.flying[d.Position()] || r.refused[d.Position()] && d.Due.After(now.Add(r.ahead)) {
			continue
		}
		if err := r.begin(ctx, d, false); err != nil {
			return time.Time{}, err
		}
		free--
	}
	if err := r.probeFirst(ctx, now); err != nil {
		return time.Time{}, err
	}
	if r.released && len(r.flying) == 0 {
		r.released, r.refused = false, nil
		return now, nil
	}
	return clock.Shift(next, -r.ahead), nil
}

// probeFirst tries what is first in line, if nothing else is under way.
func (r *round) probeFirst(ctx context.Context, now time.Time) error {
	if !r.probe || len(r.flying) > 0 {
		return nil
	}
	first, _, err := r.cfg.Store.DueDeliveries(ctx, r.cfg.Name, distant(now), 1)
	if err != nil || len(first) == 0 {
		return err
	}
	return r.begin(ctx, first[0], true)
}

// horizon is the time up to which a delivery counts as due.
func (r *round) horizon(now time.Time) time.Time {
	if r.released {
		return distant(now)
	}
	return now
}

// distant is later than any delivery is due.
func distant(now time.Time) time.Time { return now.AddDate(100, 0, 0) }

// begin makes an attempt in a goroutine of its own.
func (r *round) begin(ctx context.Context, d sinks.PendingDelivery, extra bool) error {
	r.probe = false
	if d.Body == nil { // it could not be rendered before, or messages were not kept then
		if err := r.render(ctx, &d); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.unfit(d, err)
			d.Err, d.Due = err.Error(), time.Time{}
			return r.persist(ctx, "retry", func() error { return r.cfg.Store.Postpone(ctx, r.cfg.Name, d) })
		}
	}
	m := sinks.Message{ID: d.ID(), Source: d.Source, Query: d.Batch.Query, Body: d.Body}
	r.flying[d.Position()] = true
	r.flight.Go(func() {
		begun := time.Now()
		node, err := r.cfg.Send(ctx, m)
		r.done <- attempt{delivery: d, node: node, took: time.Since(begun), err: err, extra: extra}
	})
	return nil
}

// unfit reports a message that cannot be rendered.
func (r *round) unfit(d sinks.PendingDelivery, err error) {
	err = freshet.WithHint(err, "correct the template; freshet sink replay "+r.cfg.Name+" then sends what was given up")
	r.report(attempt{delivery: d, err: err}, true)
}

// listen has the next entry ring for the round.
func (r *round) listen(ctx context.Context) {
	if r.listening {
		return
	}
	r.listening = true
	at := r.at
	r.flight.Go(func() {
		if r.subscription != nil {
			r.news <- r.subscription.wait(ctx)
		} else {
			r.news <- r.wait(ctx, at)
		}
	})
}

// await waits until there is something to do.
func (r *round) await(ctx context.Context, alarm time.Time) error {
	var rings <-chan time.Time
	if !alarm.IsZero() {
		timer := time.NewTimer(alarm.Sub(r.clock.Now()))
		defer timer.Stop()
		rings = timer.C
	}
	select {
	case a := <-r.done:
		r.look = true
		return r.conclude(ctx, a)
	case err := <-r.news:
		r.listening = false
		if err != nil {
			return fmt.Errorf("wait for what comes after %d: %w", r.at, err)
		}
		return nil
	case <-rings:
		r.look = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain waits for the attempts that were cut off, and settles those that were
// accepted all the same.
func (r *round) drain(ctx context.Context) {
	r.flight.Wait()
	if r.subscription != nil {
		r.at, _ = r.subscription.advance()
	}
	if r.at > r.kept {
		if err := r.advance(context.WithoutCancel(ctx), r.at, nil); err != nil {
			r.cfg.Log.Debug("the place could not be put on record; what is not wanted is looked at again", "err", err)
		}
	}
	close(r.done)
	for a := range r.done {
		if a.err != nil {
			continue // cut off by us, which says nothing about the endpoint
		}
		if err := r.cfg.Store.Settle(context.WithoutCancel(ctx), r.cfg.Name, a.delivery.Position()); err != nil {
			r.cfg.Log.Error("a delivery succeeded but could not be recorded; it will be repeated", "event", a.delivery.ID(), "err", err)
		}
	}
}

// conclude settles or postpones the delivery of an attempt that has ended.
func (r *round) conclude(ctx context.Context, a attempt) error {
	delete(r.flying, a.delivery.Position())
	if a.err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // cut off by us
	}
	if unsure(a.err) {
		r.cfg.Log.Info("a delivery waits, because it is not sure that this node still decides", "event", a.delivery.ID())
		r.gate.rest(r.clock.Now())
		return nil
	}
	a.delivery.Attempts++
	if a.err == nil {
		return r.settle(ctx, a)
	}
	refusal, _ := errors.AsType[*sinks.Refusal](a.err)
	if refusal != nil && refusal.Gone() {
		r.report(a, true)
		return r.giveUp(ctx)
	}
	return r.postpone(ctx, a, refusal)
}

// unsure reports whether nothing was sent because another node may decide by now. That says nothing
// about the receiver.
func unsure(err error) bool {
	failed, ok := errors.AsType[*freshet.FetchError](err)
	return ok && failed.Class.Is(failure.LocalHand)
}

// settle notes that a delivery has been accepted. If the endpoint had been
// failing, all its deliveries are released.
func (r *round) settle(ctx context.Context, a attempt) error {
	// A stop must not undo what the endpoint has taken.
	unhurried := context.WithoutCancel(ctx)
	err := r.persist(ctx, "delivery", func() error {
		return r.cfg.Store.Settle(unhurried, r.cfg.Name, a.delivery.Position())
	})
	r.report(a, false)
	delete(r.wrong, a.delivery.Position())
	if r.gate.succeeded() || r.failed || !r.condition.Held.IsZero() {
		r.failed = false
		r.cfg.Log.Info("the sink accepts deliveries again")
		r.released, r.refused = true, map[sinks.Position]bool{}
	}
	if err != nil || r.condition == (sinks.Condition{}) {
		return err
	}
	return r.note(ctx, sinks.Condition{})
}

const (
	// unfitAttempts is how often in a row a receiver must call a delivery wrong before it
	// is given up. It holds up those behind it for so long.
	unfitAttempts = 3

	// heldAfter is how long a receiver accepts nothing before it is held.
	heldAfter = 48 * time.Hour

	// heldPause is how often a receiver that is held is tried.
	heldPause = time.Hour
)

// postpone postpones a delivery until its next attempt, or gives it up after the
// last.
func (r *round) postpone(ctx context.Context, a attempt, refusal *sinks.Refusal) error {
	var away time.Duration
	if refusal != nil {
		away = refusal.RetryAfter
	}
	now, d := r.clock.Now(), a.delivery
	held := !r.condition.Held.IsZero()
	if held {
		away = max(away, heldPause)
	}
	r.gate.failed(now, away)
	if r.released {
		r.refused[d.Position()] = true
		if len(r.refused) > maxRefused {
			r.released, r.refused = false, nil
		}
	}
	if a.extra {
		r.report(a, false)
		return r.worsen(ctx, a, false)
	}
	d.Err = a.err.Error()
	d.Due = time.Time{}
	pause, again := wait(d.ID(), d.Attempts)
	if held { // nothing more is given up
		d.Attempts, pause, again = min(d.Attempts, Attempts-1), heldPause, true
	}
	if r.calledWrong(d.Position(), refusal) {
		again = false
	}
	if again {
		d.Due = now.Add(max(pause, away) + r.ahead)
	}
	r.report(a, !again)
	if err := r.persist(ctx, "retry", func() error { return r.cfg.Store.Postpone(ctx, r.cfg.Name, d) }); err != nil {
		return err
	}
	return r.worsen(ctx, a, !again)
}

// calledWrong reports whether the receiver has called a delivery wrong often enough. A start
// forgets how often it did, which only makes for more attempts.
func (r *round) calledWrong(at sinks.Position, refusal *sinks.Refusal) bool {
	if refusal == nil || !refusal.Unfit() {
		delete(r.wrong, at)
		return false
	}
	if r.wrong == nil {
		r.wrong = map[sinks.Position]int{}
	}
	r.wrong[at]++
	if r.wrong[at] < unfitAttempts {
		return false
	}
	delete(r.wrong, at)
	return true
}

// worsen notes that the receiver accepts nothing. When a delivery has been given up after
// days of that, the sink is held: it is tried now and then, and all else waits.
func (r *round) worsen(ctx context.Context, a attempt, givenUp bool) error {
	c, now := r.condition, r.clock.Now().Add(r.ahead)
	if c.Failing.IsZero() && r.gate.failures >= newsworthy {
		c.Failing, c.Err = now, a.err.Error()
	}
	if givenUp && c.Held.IsZero() && !c.Failing.IsZero() && now.Sub(c.Failing) >= heldAfter {
		c.Held, c.Err = now, a.err.Error()
		r.cfg.Log.Error("the sink has accepted nothing for days; it is tried once an hour, and its deliveries wait", "since", c.Failing, "err", a.err,
			"hint", "repair the receiver, then freshet sink replay "+r.cfg.Name+" sends what was given up")
	}
	if c == r.condition {
		return nil
	}
	return r.note(ctx, c)
}

// note puts on record how it stands with the receiver.
func (r *round) note(ctx context.Context, c sinks.Condition) error {
	r.condition = c
	return r.persist(ctx, "condition", func() error { return r.cfg.Store.SetCondition(context.WithoutCancel(ctx), r.cfg.Name, c) })
}

// giveUp stops the sink for good: the endpoint has said that it is gone.
func (r *round) giveUp(ctx context.Context) error {
	r.cfg.Log.Error("the sink answered 410 Gone; no more deliveries are made to it",
		"hint", "remove the sink, or change its URL")
	err := r.persist(ctx, "stop", func() error {
		return r.cfg.Store.Retire(ctx, r.cfg.Name, r.endpoint(), errGone.Error())
	})
	if err != nil {
		return err
	}
	return errGone
}

// report reports an attempt.
func (r *round) report(a attempt, givenUp bool) {
	id := a.delivery.ID()
	switch {
	case a.err == nil:
		r.cfg.Log.Debug("delivered", "event", id, "attempt", a.delivery.Attempts, "took", a.took)
	case givenUp:
		r.cfg.Log.Error("delivery given up", "event", id, "attempt", a.delivery.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	default:
		r.cfg.Log.Warn("delivery failed", "event", id, "attempt", a.delivery.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(Delivery{Sink: r.cfg.Name, ID: id, Node: a.node, Attempt: a.delivery.Attempts, Ended: r.cfg.Now(), Took: a.took, Err: a.err, GivenUp: givenUp})
	}
}

// followClock moves all retries when the wall clock was set: they are kept as
// dates, and come after the wait that was meant.
func (r *round) followClock(ctx context.Context) error {
	ahead := r.clock.Ahead()
	if ahead == r.ahead {
		return nil
	}
	if err := r.shift(ctx, ahead-r.ahead); err != nil {
		return err
	}
	r.ahead = ahead
	r.look = true
	return nil
}

// catchUp brings retries nearer that the wall clock has put far off, because it
// was set back while nobody delivered. A change that is dated in the future says
// by how much; and no retry is further off than the longest wait.
func (r *round) catchUp(ctx context.Context) error {
	now := r.clock.Now()
	last, err := r.cfg.Store.LastChange(ctx)
	if err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	changes, err := r.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: last - 1, Limit: 1})
	if err != nil {
		return fmt.Errorf("the last change: %w", err)
	}
	if len(changes) > 0 && changes[0].Before.After(now) {
		if err := r.shift(ctx, now.Sub(changes[0].Before)); err != nil {
			return err
		}
	}
	_, next, err := r.cfg.Store.DueDeliveries(ctx, r.cfg.Name, now, 1)
	if err != nil {
		return fmt.Errorf("pending deliveries of sink %s: %w", r.cfg.Name, err)
	}
	r.failed = !next.IsZero()
	if late := next.Sub(now.Add(longestWait)); !next.IsZero() && late > 0 {
		return r.shift(ctx, -late)
	}
	return nil
}

// shift moves all retries.
func (r *round) shift(ctx context.Context, by time.Duration) error {
	return r.persist(ctx, "retries", func() error { return r.cfg.Store.ShiftDue(ctx, r.cfg.Name, by) })
}
