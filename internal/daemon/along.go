package daemon

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// ordersAlong returns the orders for sources that are read along with a poll, and those
// sources. One that is gone meanwhile is not among them.
func (d *Daemon) ordersAlong(ctx context.Context, along []freshet.Companion) (kept []freshet.Companion, orders []worker.Order) {
	for _, c := range along {
		head, err := d.cfg.Store.Head(ctx, c.Source.ID)
		if err != nil {
			if !errors.Is(err, freshet.ErrNotFound) {
				d.cfg.Log.Error("cannot read a source along with another", "source", c.Source.ID, "err", err)
			}
			d.leaveBehind([]freshet.Companion{c})
			continue
		}
		kept, orders = append(kept, c), append(orders, d.order(c.Source, head))
	}
	return kept, orders
}

// endAlong puts on record what was found for the sources that were read along, each by
// itself, after the poll: what a crash comes before is not seen, and polled again. Of a
// poll that says nothing about them there is nothing to record.
func (d *Daemon) endAlong(ctx context.Context, p freshet.Poll, order worker.Order, found worker.Finding, began time.Time) {
	if len(found.Along) < len(p.Along) {
		d.leaveBehind(p.Along[len(found.Along):])
	}
	for i, one := range found.Along {
		if ctx.Err() != nil && one.Result == freshet.Failed {
			return
		}
		c := p.Along[i]
		d.voices.hear(c.Source, one)
		its := freshet.Poll{Source: c.Source, At: p.At, Since: c.Since, Cause: freshet.BySharing}
		d.end(ctx, its, one.Record(its, began), order.Along[i].Head)
	}
}

// leaveBehind tells the brain that sources were not read along after all.
func (d *Daemon) leaveBehind(along []freshet.Companion) {
	for _, c := range along {
		d.dates.forget(c.Source.ID)
		d.inbox.post(sched.PollAbandoned{Source: c.Source.ID})
	}
}
