package policy

import (
	"time"

	"freshet"
)

// NewStormCrawler returns a policy that comes back as StormCrawler does with
// its adaptive scheduler: the interval goes half of the way to the smallest one
// when the page has changed and grows by half when it has not, between an hour
// and a fortnight, from a day.
func NewStormCrawler(c RevisitConfig) *Revisit {
	const day = 24 * time.Hour
	c, _ = c.scaled(day, time.Hour, 14*day)
	return &Revisit{rule: &stormCrawler{cfg: c}}
}

// The rates that StormCrawler is shipped with.
const (
	stormShrink = 0.5
	stormGrow   = 0.5
)

type stormCrawler struct {
	cfg       RevisitConfig
	intervals []time.Duration // by slot
}

func (s *stormCrawler) forget(slot freshet.Slot) {
	s.intervals = grown(s.intervals, slot)
	s.intervals[slot] = s.cfg.Initial
}

func (s *stormCrawler) initial(freshet.Slot) time.Duration { return s.cfg.Initial }

func (s *stormCrawler) next(slot freshet.Slot, o freshet.Outcome) time.Time {
	interval := float64(s.intervals[slot])
	switch o.Result {
	case freshet.Changed:
		interval = (1-stormShrink)*interval + stormShrink*float64(s.cfg.Min)
	case freshet.Unchanged:
		interval *= 1 + stormGrow
	}
	s.intervals[slot] = s.cfg.clamp(interval)
	return o.Began.Add(s.intervals[slot])
}
