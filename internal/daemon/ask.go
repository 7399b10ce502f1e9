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
