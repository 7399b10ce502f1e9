package delivery

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet"
)

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
		return fmt.Errorf("debts of sink %s: %w", r.cfg.Name, err)
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
