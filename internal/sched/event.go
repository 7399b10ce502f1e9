package sched

import (
	"time"

	"freshet/internal/freshet"
)

// An Event is one thing that happened in a World.
type Event interface {
	apply(now time.Time, s *Scheduler)
}

// Apply updates the scheduler by an event that happened at now. A nil event changes nothing.
func (s *Scheduler) Apply(now time.Time, ev Event) {
	if ev != nil {
		ev.apply(now, s)
	}
}

// PollEnded says that a poll ended and its outcome is recorded.
type PollEnded struct{ Outcome *freshet.Outcome }

// PollAbandoned says that a poll which Next returned ended without a record,
// because its source was removed meanwhile, or that a source was to be read from
// the fetch of another and was not. The requests that the poll had reserved count
// as made. Nothing is learned from it: only the record teaches.
type PollAbandoned struct{ Source freshet.SourceID }

// SourcePut says that a source was added or edited.
type SourcePut struct{ Source freshet.SourceWithStatus }

// SourceRemoved says that a source was removed.
type SourceRemoved struct{ Source freshet.SourceID }

// PollRequested asks for a poll of a source soon.
type PollRequested struct {
	Source freshet.SourceID
	First  bool // only if the source was not seen yet and is not being polled
}

// LimitsSet says that the operator changed the limits.
type LimitsSet struct{ Limits Limits }

// LevelsSet says that the operator changed the service levels and objectives of
// tags; the function returns those in force.
type LevelsSet func() []freshet.TagLevel

// StrategiesSet says that the operator changed the strategies of tags; the
// function returns those in force.
type StrategiesSet func() []freshet.TagStrategy

// ClockSet says that the clock that strategies go by was set; the function returns
// how far it is ahead of the time of the World.
type ClockSet func() time.Duration

// A Call runs in the loop, between two events, to read the scheduler or its policy
// while neither changes.
type Call func(now time.Time, s *Scheduler)

func (e PollEnded) apply(now time.Time, s *Scheduler)     { s.Observe(now, *e.Outcome) }
func (e PollAbandoned) apply(now time.Time, s *Scheduler) { s.abandon(now, e.Source) }
func (e SourcePut) apply(now time.Time, s *Scheduler)     { s.Put(now, e.Source) }
func (e SourceRemoved) apply(_ time.Time, s *Scheduler)   { s.Remove(e.Source) }
func (e PollRequested) apply(_ time.Time, s *Scheduler) {
	if !e.First || s.unseen(e.Source) {
		s.Ask(e.Source)
	}
}
func (e LimitsSet) apply(now time.Time, s *Scheduler)     { s.SetLimits(now, e.Limits) }
func (f LevelsSet) apply(now time.Time, s *Scheduler)     { s.SetLevels(now, f()) }
func (f StrategiesSet) apply(now time.Time, s *Scheduler) { s.SetStrategies(now, f()) }
func (f ClockSet) apply(now time.Time, s *Scheduler)      { s.setClock(now, f()) }
func (f Call) apply(now time.Time, s *Scheduler)          { f(now, s) }

func (h HostBackoff) apply(now time.Time, s *Scheduler)    { s.hosts.backOff(now, h) }
func (r RobotsRead) apply(now time.Time, s *Scheduler)     { s.robotsRead(now, r) }
func (p Push) apply(now time.Time, s *Scheduler)           { s.pushed(now, p) }
func (f ForecastOverride) apply(_ time.Time, s *Scheduler) { s.overrideForecast(f) }
func (w Weight) apply(now time.Time, s *Scheduler)         { s.setWeight(now, w) }
func (r Request) apply(now time.Time, s *Scheduler)        { s.permits.request(now, r) }
func (p SlowPoll) apply(now time.Time, s *Scheduler)       { s.slowPoll(now, p) }
