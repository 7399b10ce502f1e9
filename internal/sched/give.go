package sched

import "freshet/internal/freshet"

// ForecastOverride says that somebody gave a forecast of when a source is likely to change.
type ForecastOverride struct {
	Source freshet.SourceID
	Given  *freshet.Chances // nil takes back the one before
}

// overrideForecast hands a forecast to the policy and the learners that can use one.
func (s *Scheduler) overrideForecast(c ForecastOverride) {
	slot, ok := s.Slot(c.Source)
	if !ok {
		return
	}
	for _, l := range s.learners {
		if takes, ok := l.(interface {
			OverrideForecast(freshet.Slot, *freshet.Chances)
		}); ok {
			takes.OverrideForecast(slot, c.Given)
		}
	}
}
