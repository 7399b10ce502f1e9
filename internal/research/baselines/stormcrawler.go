package baselines

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// NewStormCrawler returns a policy that comes back as StormCrawler does with
// its adaptive scheduler: the interval goes half of the way to the smallest one
// when the page has changed and grows by half when it has not, between an hour
// and a fortnight, from a day.
func NewStormCrawler(c policy.RevisitConfig) *policy.Revisit {
	const day = 24 * time.Hour
	c, _ = c.Scaled(day, time.Hour, 14*day)
	return policy.NewRevisit(&stormCrawler{cfg: c})
}

// The rates that StormCrawler is shipped with.
const (
	stormShrink = 0.5
	stormGrow   = 0.5
)

type stormCrawler struct {
	cfg       policy.RevisitConfig
	intervals []time.Duration // by slot
}

// Forget implements [policy.RevisitRule].
func (s *stormCrawler) Forget(slot freshet.Slot) {
	s.intervals = ranking.Grown(s.intervals, slot)
	s.intervals[slot] = s.cfg.Initial
}

// Initial implements [policy.RevisitRule].
func (s *stormCrawler) Initial(freshet.Slot) time.Duration { return s.cfg.Initial }

// Next implements [policy.RevisitRule].
func (s *stormCrawler) Next(slot freshet.Slot, o freshet.Outcome) time.Time {
	interval := float64(s.intervals[slot])
	switch o.Result {
	case freshet.Changed:
		interval = (1-stormShrink)*interval + stormShrink*float64(s.cfg.Min)
	case freshet.Unchanged:
		interval *= 1 + stormGrow
	}
	s.intervals[slot] = s.cfg.Clamp(interval)
	return o.Began.Add(s.intervals[slot])
}
