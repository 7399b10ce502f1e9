package deliver

import (
	"context"
	"errors"
	"time"

	"freshet"
)

// conclude settles or postpones the debt of an attempt that has ended.
func (r *round) conclude(ctx context.Context, a attempt) error {
	cursor := a.debt.Change.Cursor
	delete(r.flying, cursor)
	a.debt.Attempts++
	if a.err == nil {
		return r.settle(ctx, a)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // cut off by us
	}
	refusal, _ := errors.AsType[*Refusal](a.err)
	if refusal != nil && refusal.Gone() {
		r.report(a, true)
		return r.giveUp(ctx)
	}
	var away time.Duration
	if refusal != nil {
		away = refusal.RetryAfter
	}
	return r.postpone(ctx, a, away)
}

// settle notes that a change has been accepted. If the endpoint had been
// failing, whatever it owes is released with it.
func (r *round) settle(ctx context.Context, a attempt) error {
	if r.gate.succeeded() {
		r.cfg.Log.Info("the webhook accepts deliveries again")
		r.released, r.refused = true, map[freshet.Cursor]bool{}
	}
	// A stop must not undo what the endpoint has taken.
	unhurried := context.WithoutCancel(ctx)
	err := r.persist(ctx, "delivery", func() error {
		return r.cfg.Store.Settle(unhurried, r.cfg.Name, a.debt.Change.Cursor)
	})
	r.report(a, false)
	return err
}

// postpone puts a debt off until its next attempt, or gives it up after the
// last.
func (r *round) postpone(ctx context.Context, a attempt, away time.Duration) error {
	now, d := r.clock.Now(), a.debt
	r.gate.failed(now, away)
	if r.released {
		r.refused[d.Change.Cursor] = true
		if len(r.refused) > maxRefused {
			r.released, r.refused = false, nil
		}
	}
	d.Err = a.err.Error()
	d.Due = time.Time{}
	pause, again := wait(d.Change.ID(), d.Attempts)
	if again {
		d.Due = now.Add(max(pause, away) + r.ahead)
	}
	r.report(a, !again)
	return r.persist(ctx, "retry", func() error { return r.cfg.Store.Postpone(ctx, r.cfg.Name, d) })
}

// giveUp stops the sink for good: the endpoint has said that it is gone.
func (r *round) giveUp(ctx context.Context) error {
	r.cfg.Log.Error("the webhook answered 410 Gone; no more deliveries are made to it",
		"hint", "remove the webhook from the configuration, or change its URL")
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
	c := a.debt.Change
	switch {
	case a.err == nil:
		r.cfg.Log.Debug("delivered", "change", c.ID(), "attempt", a.debt.Attempts, "took", a.took)
	case givenUp:
		r.cfg.Log.Error("delivery given up", "change", c.ID(), "attempt", a.debt.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	default:
		r.cfg.Log.Warn("delivery failed", "change", c.ID(), "attempt", a.debt.Attempts, "err", a.err, "hint", freshet.HintOf(a.err))
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(Delivery{Sink: r.cfg.Name, Change: c, Attempt: a.debt.Attempts, Took: a.took, Err: a.err, GivenUp: givenUp})
	}
}
