package delivery

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sinks"
)

// conclude settles or postpones the debt of an attempt that has ended.
func (r *round) conclude(ctx context.Context, a attempt) error {
	delete(r.flying, a.debt.Position())
	if a.err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // cut off by us
	}
	if unsure(a.err) {
		r.cfg.Log.Info("a delivery waits, because it is not sure that this node still decides", "event", a.debt.ID())
		r.gate.rest(r.clock.Now())
		return nil
	}
	a.debt.Attempts++
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
// failing, whatever it owes is released with it.
func (r *round) settle(ctx context.Context, a attempt) error {
	// A stop must not undo what the endpoint has taken.
	unhurried := context.WithoutCancel(ctx)
	err := r.persist(ctx, "delivery", func() error {
		return r.cfg.Store.Settle(unhurried, r.cfg.Name, a.debt.Position())
	})
	r.report(a, false)
	delete(r.wrong, a.debt.Position())
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

// postpone puts a debt off until its next attempt, or gives it up after the
// last.
func (r *round) postpone(ctx context.Context, a attempt, refusal *sinks.Refusal) error {
	var away time.Duration
	if refusal != nil {
		away = refusal.RetryAfter
	}
	now, d := r.clock.Now(), a.debt
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
	if c.Failing.IsZero() && r.gate.failures >= patience { // one failure is no news
		c.Failing, c.Err = now, a.err.Error()
	}
	if givenUp && c.Held.IsZero() && !c.Failing.IsZero() && now.Sub(c.Failing) >= heldAfter {
		c.Held, c.Err = now, a.err.Error()
		r.cfg.Log.Error("the sink has accepted nothing for days; it is tried once an hour, and all that it is owed waits", "since", c.Failing, "err", a.err,
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

// report tells of an attempt.
func (r *round) report(a attempt, givenUp bool) {
	id := a.debt.ID()
	switch {
	case a.err == nil:
		r.cfg.Log.Debug("delivered", "event", id, "attempt", a.debt.Attempts, "took", a.took)
	case givenUp:
		r.cfg.Log.Error("delivery given up", "event", id, "attempt", a.debt.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	default:
		r.cfg.Log.Warn("delivery failed", "event", id, "attempt", a.debt.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(Delivery{Sink: r.cfg.Name, ID: id, Node: a.node, Attempt: a.debt.Attempts, Ended: r.cfg.Now(), Took: a.took, Err: a.err, GivenUp: givenUp})
	}
}
