package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// SetChances says when a source is likely to change, in the place of what was said of it
// before, and returns from when to when that holds.
func (d *Daemon) SetChances(ctx context.Context, id freshet.SourceID, c freshet.Chances) (freshet.Chances, error) {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return c, err
	}
	c, err := c.Given(d.cfg.Now())
	if err != nil {
		return c, err
	}
	return c, d.putChances(ctx, id, c.Memory())
}

// ClearChances takes back what was said of when a source is likely to change.
func (d *Daemon) ClearChances(ctx context.Context, id freshet.SourceID) error {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return err
	}
	if _, given, err := d.Chances(ctx, id); err != nil || !given {
		return err
	}
	return d.putChances(ctx, id, nil)
}

// putChances keeps chances, and tells the loop.
func (d *Daemon) putChances(ctx context.Context, id freshet.SourceID, memory []byte) error {
	belief := freshet.Belief{Source: id, Estimator: freshet.ChancesBelief, Memory: memory}
	if err := d.cfg.Store.SaveBeliefs(ctx, []freshet.Belief{belief}); err != nil {
		return err
	}
	return d.tellChances(ctx, id, true)
}

// Chances returns what was said of when a source is likely to change, and whether
// anything was.
func (d *Daemon) Chances(ctx context.Context, id freshet.SourceID) (c freshet.Chances, given bool, err error) {
	belief, err := d.cfg.Store.Belief(ctx, freshet.ChancesBelief, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	return freshet.ParseChances(belief.Memory)
}

// tellChances tells the loop what the store has of when a source is likely to change; that
// there is nothing only if that is news. As with an edit, the loop ends with what was
// written last.
func (d *Daemon) tellChances(ctx context.Context, id freshet.SourceID, none bool) error {
	defer d.editing.pass(alone)()
	c, given, err := d.Chances(context.WithoutCancel(ctx), id)
	if err != nil {
		return fmt.Errorf("source %s: %w", id, err)
	}
	event := sched.ForecastOverride{Source: id}
	if given {
		c = c.Shifted(-d.dates.Ahead())
		event.Given = &c
	}
	if given || none {
		d.expected.forget(id)
		d.inbox.post(event)
	}
	return nil
}

// retellChances tells the loop of all chances again, because the clock that they go by
// was set.
func (d *Daemon) retellChances(ctx context.Context) {
	for belief, err := range d.cfg.Store.Beliefs(ctx, freshet.ChancesBelief) {
		if err == nil {
			err = d.tellChances(ctx, belief.Source, false)
		}
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("cannot read the chances that were given", "source", belief.Source, "err", err)
		}
	}
}

// recallChances tells the scheduler at a start of all chances that were given. Those that
// cannot be read are passed over.
func (b *brain) recallChances(ctx context.Context) error {
	for belief, err := range b.store.Beliefs(ctx, freshet.ChancesBelief) {
		if err != nil {
			return err
		}
		c, given, err := freshet.ParseChances(belief.Memory)
		if err != nil {
			b.log.Error("cannot read the chances that were given", "source", belief.Source, "err", err)
		}
		if given {
			c = c.Shifted(-b.dates.Ahead())
			b.sched.Apply(b.dates.Now(), sched.ForecastOverride{Source: belief.Source, Given: &c})
		}
	}
	return nil
}

// GivenChances are what was said of when a source is likely to change, as far as it counts
// at a moment.
type GivenChances struct {
	freshet.Chances
	Used bool // by the policy
}

// givenTo returns the chances of a source that are not over; nil if there are none.
func (d *Daemon) givenTo(ctx context.Context, id freshet.SourceID, now time.Time) (*GivenChances, error) {
	c, given, err := d.Chances(ctx, id)
	if err != nil || !given || !c.Until.After(now) {
		return nil, err
	}
	_, used := d.cfg.Policy.(interface {
		OverrideForecast(freshet.Slot, *freshet.Chances)
	})
	return &GivenChances{c, used}, nil
}
