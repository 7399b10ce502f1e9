package daemon

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// elsewhere says who polls the host of a source, if another daemon does: they share a budget,
// and each host is one's alone.
func (d *Daemon) elsewhere(s freshet.Source) error {
	if d.cfg.Elsewhere == nil {
		return nil
	}
	if err := d.cfg.Elsewhere(s.Host()); err != nil {
		return freshet.WithHint(&freshet.InvalidError{Field: "url", Reason: err.Error()}, "add it there, or give all daemons the same configuration file: each takes its own sources of it")
	}
	return nil
}

// own returns those of some sources that are this daemon's.
func (d *Daemon) own(listed []freshet.Source) []freshet.Source {
	if d.cfg.Elsewhere == nil {
		return listed
	}
	var mine []freshet.Source
	for _, s := range listed {
		if d.elsewhere(s) == nil {
			mine = append(mine, s)
		}
	}
	if n := len(listed) - len(mine); n > 0 {
		d.cfg.Log.Info("sources of the configuration file are left to the other shards", "left", n, "taken", len(mine))
	}
	return mine
}

// warnOfOthers says so if sources are watched here that another daemon should: none of their
// polls asks anybody.
func (d *Daemon) warnOfOthers(ctx context.Context) {
	if d.cfg.Elsewhere == nil {
		return
	}
	n, first := 0, freshet.SourceID("")
	for s, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return // it is no more than a warning
		}
		if d.elsewhere(s.Source) == nil {
			continue
		}
		if n++; n == 1 {
			first = s.ID
		}
	}
	if n > 0 {
		d.cfg.Log.Warn("sources belong to other shards and are not polled here", "sources", n, "first", first, "hint", "add them there and remove them here")
	}
}

// leaveOthers returns why a request does not go to a host: another daemon polls that.
func (w *passage) leaveOthers(host string) error {
	d := w.daemon
	if d.cfg.Elsewhere == nil {
		return nil
	}
	if err := d.cfg.Elsewhere(host); err != nil {
		return &freshet.FetchError{Class: freshet.FailShard, Err: err}
	}
	return nil
}

// Margin returns what the last poll that the budget can afford is worth to the policy at work;
// 0 if it cannot tell. It returns when the loop has taken in all limits that were set before.
func (d *Daemon) Margin(ctx context.Context) (price float64, err error) {
	err = d.inLoop(ctx, func(time.Time, *sched.Scheduler) {
		if p, ok := d.cfg.Policy.(interface{ Price() float64 }); ok {
			price = p.Price()
		}
	})
	return price, err
}
