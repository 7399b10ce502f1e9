package daemon

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Hurry has the next poll of a source that somebody asks for not wait for the
// source's min_gap.
func (d *Daemon) Hurry(ctx context.Context, id freshet.SourceID) error {
	return d.lookAt(ctx, id, func(_ time.Time, s *sched.Scheduler) { s.Hurry(id) })
}

// HoldAsked returns what keeps a poll of a source back that somebody asks for now.
func (d *Daemon) HoldAsked(ctx context.Context, id freshet.SourceID) (h sched.Hold, err error) {
	err = d.lookAt(ctx, id, func(now time.Time, s *sched.Scheduler) { h, _ = s.HoldAsked(now, id) })
	h.Until = d.dates.Date(h.Until)
	return h, err
}

// lookAt runs a function in the loop, if there is such a source and a daemon at work.
func (d *Daemon) lookAt(ctx context.Context, id freshet.SourceID, look func(now time.Time, s *sched.Scheduler)) error {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return err
	}
	if !d.running.Load() {
		return ErrNotRunning
	}
	return d.inLoop(ctx, look)
}

// Push takes in that somebody says that a source has changed, as a hook or a hub does. It
// is polled soon, unless such words have hardly ever come with a change: then it is polled
// when it would be, and the poll shows whether the word was true.
func (d *Daemon) Push(ctx context.Context, id freshet.SourceID) error {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return err
	}
	if !d.running.Load() {
		return ErrNotRunning
	}
	past, err := d.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{Source: id, Newest: true, Limit: pushesLately})
	if err != nil {
		return err
	}
	p := sched.Push{Source: id}
	p.Right, p.Times = pushesBorneOut(past)
	p.Urgent = (p.Right+priorRight)/(p.Times+priorTimes) >= leastUrgent
	d.inbox.post(p)
	return nil
}

const (
	pushesLately = 200 // outcomes that are looked at for pushes
	pushesFade   = 0.9 // what a push counts for when there was one more after it

	// Pushes are believed at first. It takes five in a row that bring nothing until they
	// are not, and one or two that do until they are again.
	priorRight, priorTimes = 1.5, 2
	leastUrgent            = 0.27
)

// pushesBorneOut returns how many pushes of late came with a change, and how many there
// were, from the outcomes of a source, the newest first. What is long past counts for less.
func pushesBorneOut(past []freshet.Outcome) (right, times float64) {
	weight := 1.0
	for _, o := range past {
		if o.Pushed.IsZero() || !o.Result.Seen() || o.Since.IsZero() {
			continue
		}
		times += weight
		if o.Result == freshet.Changed {
			right += weight
		}
		weight *= pushesFade
	}
	return right, times
}
