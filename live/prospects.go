package live

import (
	"context"
	"slices"
	"time"

	"freshet"
	"freshet/learn"
	"freshet/policy"
	"freshet/sched"
	"freshet/whatif"
)

// Prospects returns what is expected of every source that is polled, with the
// service level that holds for it. How often each changes is what the policy has
// learned. If the policy does not learn, or the daemon does not run, it is what
// the store says of the sources' polls.
func (d *Daemon) Prospects(ctx context.Context) ([]whatif.Prospect, error) {
	levels, gap := d.levels.tags(), d.Limits().SourceGap
	var all []whatif.Prospect
	var standings learn.Standings
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Paused {
			continue
		}
		p := whatif.ProspectOf(w.Source, freshet.Range{})
		p.Level = freshet.LevelOf(w.Source, levels)
		p.Requests = float64(max(1, w.Standing.Requests))
		if p.MinGap == 0 {
			p.MinGap = gap
			if p.MaxGap > 0 { // which comes before the gap of all sources
				p.MinGap = min(gap, p.MaxGap)
			}
		}
		all = append(all, p)
		standings.Add(w)
	}
	for i, rate := range standings.Rates() {
		all[i].Rate = rate
	}
	if from, ok := d.brain.outlooks(); ok && d.running.Load() {
		return all, d.askOutlooks(ctx, from, all)
	}
	return all, nil
}

// askAtOnce is how many sources are asked after in one go. In the meantime the
// loop can do nothing else.
const askAtOnce = 500

// askOutlooks completes prospects by what the policy has learned.
func (d *Daemon) askOutlooks(ctx context.Context, from outlooker, all []whatif.Prospect) error {
	for part := range slices.Chunk(all, askAtOnce) {
		outlooks := make([]freshet.Outlook, len(part))
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for i := range part {
				if slot, ok := s.Slot(part[i].ID); ok {
					outlooks[i] = from.Outlook(now, slot)
				}
			}
		})
		if err != nil {
			return err
		}
		for i, o := range outlooks {
			learned(&part[i], o)
		}
	}
	return nil
}

// inLoop has the loop run a function while nothing else happens, and returns
// when it has.
func (d *Daemon) inLoop(ctx context.Context, f func(now time.Time, s *sched.Scheduler)) error {
	done := make(chan struct{})
	d.inbox.post(sched.Event{Call: func(now time.Time, s *sched.Scheduler) {
		defer close(done)
		f(now, s)
	}})
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// learned completes a prospect by what the policy has learned of its source.
func learned(p *whatif.Prospect, o freshet.Outlook) {
	if !(o.Rate.Mean > 0) {
		return
	}
	p.Rate = learn.LongRun(o)
	// A policy with a price polls as whatif expects, and follows a new budget at
	// once. How another policy polls can only be seen.
	const few = 3 // polls do not tell how far apart they are
	if o.Price == 0 && o.Polls >= few {
		p.Gap = time.Duration(o.Watched / o.Polls * float64(time.Second))
	}
}

// Terms returns the terms that the present limits set.
func (d *Daemon) Terms() whatif.Terms {
	l := d.Limits()
	t := whatif.Terms{HostGap: l.Hosts.Delay}
	if _, ok := d.cfg.Policy.(*policy.Auto); ok {
		t.Curiosity = policy.Curiosity
	}
	if l.Budget.Polls > 0 && l.Budget.Per > 0 {
		t.Budget = l.Budget.PerSecond()
	}
	return t
}
