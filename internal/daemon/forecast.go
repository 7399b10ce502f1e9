package daemon

import (
	"context"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/forecast"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A forecaster says what to expect of sources under some limits.
type forecaster struct {
	store      freshet.Store
	loop       *loop
	limits     *limits
	plans      freshet.Policy // whose polls are foreseen: the one at work, or the one that would be
	outlooks   func() (outlooker, bool)
	levels     *levelWatch
	strategies *tagStrategies
	weights    *weights
}

// Prospects returns what is expected of every source that is polled, with the
// service level that holds for it. How often each changes is what the policy has
// learned. If the policy does not learn, or the daemon does not run, it is what
// the store says of the sources' polls.
func (f *forecaster) Prospects(ctx context.Context) ([]forecast.Prospect, error) {
	return f.ProspectsUnder(ctx, f.limits.Limits())
}

// ProspectsUnder is Prospects as it would be under other limits.
func (f *forecaster) ProspectsUnder(ctx context.Context, l sched.Limits) ([]forecast.Prospect, error) {
	levels, strategies, gap := f.levels.tags(), f.strategies.tags(), l.SourceGap
	timed := map[freshet.SourceID]bool{} // that are polled by a strategy
	var all []forecast.Prospect
	var standings learn.Standings
	for w, err := range f.store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Paused {
			continue
		}
		p := forecast.ProspectOf(w.Source, outlook.Range{})
		if stake, matters := f.weights.get(w.ID); matters {
			p.Weight *= stake.Factor
		}
		p.Level = freshet.LevelOf(w.Source, levels)
		p.Requests = float64(max(1, w.Status.Requests))
		p.Cost = w.PriceAt(w.Status.Requests)
		if s := freshet.StrategyOf(w.Source, strategies); !s.IsZero() {
			timed[w.ID] = true
			p.MinGap, p.MaxGap = s.Gap(), s.Gap()
		}
		if p.MinGap == 0 {
			p.MinGap, p.SharedGap = gap, gap > 0
			if p.MaxGap > 0 { // which comes before the gap of all sources
				p.MinGap = min(gap, p.MaxGap)
			}
		}
		all = append(all, p)
		standings.Add(w)
	}
	for i, rate := range standings.Rates() {
		all[i].Rate, all[i].Known = rate.Range, rate.Known
	}
	if from, ok := f.outlooks(); ok && f.loop.running.Load() {
		return all, f.askOutlooks(ctx, from, all, timed)
	}
	return all, nil
}

// askAtOnce is how many sources are asked after in one go. In the meantime the
// loop can do nothing else.
const askAtOnce = 500

// askOutlooks completes prospects by what the policy has learned. When those are polled
// that have a strategy is not for the policy to say.
func (f *forecaster) askOutlooks(ctx context.Context, from outlooker, all []forecast.Prospect, timed map[freshet.SourceID]bool) error {
	auto, _ := f.plans.(*policy.Auto)
	for part := range slices.Chunk(all, askAtOnce) {
		outlooks := make([]outlook.Outlook, len(part))
		err := f.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
			for i := range part {
				if slot, ok := s.Slot(part[i].ID); ok {
					outlooks[i] = from.Outlook(now, slot)
				}
				part[i].Requests /= float64(1 + len(s.Mates(part[i].ID))) // one poll is for all of them
			}
		})
		if err != nil {
			return err
		}
		for i, o := range outlooks {
			learned(&part[i], o)
			if auto != nil && !timed[part[i].ID] { // which polls as the forecast expects, and follows a new budget at once
				part[i].Rest, part[i].Gap = auto.Rest(o), 0
			}
		}
	}
	return nil
}

// learned completes a prospect by what the policy has learned of its source.
func learned(p *forecast.Prospect, o outlook.Outlook) {
	if !(o.Rate.Mean > 0) {
		return
	}
	p.Rate, p.Known = o.Rate.Range, o.Rate.Known
	if o.Polls > 0 && o.Watched > 0 {
		p.Pace = o.Polls / o.Watched
		if o.Captured > 0 {
			p.Seen = learn.Share(o.Tally)
		}
	}
	const few = 3 // polls do not tell how far apart they are
	if o.Polls >= few {
		p.Gap = time.Duration(o.Watched / o.Polls * float64(time.Second))
	}
}

// Terms returns the terms that the present limits set.
func (f *forecaster) Terms() forecast.Terms { return f.TermsUnder(f.limits.Limits()) }

// TermsUnder returns the terms that limits would set.
func (f *forecaster) TermsUnder(l sched.Limits) forecast.Terms {
	t := forecast.Terms{HostGap: l.Hosts.Delay, SourceShare: l.SourceShare, HostShare: l.Hosts.Share}
	if _, ok := f.plans.(*policy.Auto); ok {
		t.Curiosity, t.LevelShare = policy.Curiosity, policy.LevelShare
	}
	if l.Budget.Polls > 0 && l.Budget.Per > 0 {
		t.Budget = l.Budget.PerSecond()
	}
	return t
}
