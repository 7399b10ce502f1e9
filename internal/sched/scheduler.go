package sched

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/timetable"
	"freshet/internal/learn/imported"
)

// A Scheduler keeps the state of every source and says which poll to make next. Make one
// with New.
//
// Its parts keep their own state; the Scheduler puts them together. They share the limits
// and the alarms.
type Scheduler struct {
	policy   freshet.Policy
	learners []freshet.Learner // the policy, after those that learn beside it
	limits   *Limits
	levels   []freshet.TagLevel           // wanted of all sources with a tag
	weights  map[freshet.SourceID]float64 // what the changes of sources matter; none means 1

	*sourceTable
	*requestQueue
	hosts      hostTable
	budget     spending
	shares     shareTable
	timetables timetables
	permits    permitQueue

	overdue deadlines // when each source's MaxGap runs out, or a suspect capture wants a second look
	alarms  *alarms   // when something that is shut opens
	claim   claim     // what the first poll that waits for several requests or hosts needs
	asks    policyAsks

	inFlight int            // polls chosen and not ended
	slow     int            // of them, those that have given their place away
	ready    []freshet.Poll // chosen
	given    int            // of those, already handed out
}

// New returns a Scheduler for a policy within limits. The learners beside it get every
// source and outcome before the policy does.
func New(p freshet.Policy, l Limits, beside ...freshet.Learner) *Scheduler {
	l = l.withDefaults()
	s := &Scheduler{
		policy:   p,
		learners: append(slices.Clone(beside), p),
		limits:   &l,
		weights:  map[freshet.SourceID]float64{},
		alarms:   &alarms{},
		asks:     policyAsks{quantum: -1},
	}
	s.sourceTable = newSourceTable()
	s.requestQueue = &requestQueue{sources: s.sourceTable, pushes: map[freshet.Slot]*pendingPush{}}
	s.hosts = hostTable{limits: s.limits, alarms: s.alarms, byName: map[string]*host{}}
	s.shares = shareTable{limits: s.limits, alarms: s.alarms, groups: map[string]*group{}, sets: map[string]*groups{}}
	s.timetables = timetables{sources: s.sourceTable, budget: &s.budget, alarms: s.alarms, tables: map[string]*timetable.Timetable{}}
	s.permits = permitQueue{
		limits: s.limits, alarms: s.alarms, sources: s.sourceTable, hosts: &s.hosts, budget: &s.budget, shares: &s.shares,
	}
	s.setShares()
	s.tellLimits()
	return s
}

// tellLimits hands the limits to a policy that can use them.
func (s *Scheduler) tellLimits() {
	if p, ok := s.policy.(interface{ SetLimits(l Limits) }); ok {
		p.SetLimits(*s.limits)
	}
}

// SetLimits changes the limits from now on. What has been spent stays spent. It goes through all
// sources only if one of them may open sooner or later by that.
func (s *Scheduler) SetLimits(now time.Time, l Limits) {
	before := *s.limits
	*s.limits = l.withDefaults()
	s.tellLimits()
	if s.budget.started {
		s.budget.set(now, s.limits.Budget)
		s.asks.quantum, s.asks.skipped = -1, false
	}
	if s.limits.opensAs(before) {
		return
	}
	s.setShares()
	clear(s.bars)
	if !s.budget.started {
		return
	}
	for _, h := range s.hosts.byName {
		if !h.touched.IsZero() {
			s.alarms.set(h.touched.Add(s.limits.Hosts.delayOf(h)))
			s.alarms.set(s.shares.hostOpens(h))
		}
	}
	for _, e := range s.entries.All {
		if e.used && !s.shares.allow(now, e, freshet.ByPolicy) {
			s.shares.setAlarms(now, e)
		}
	}
}

// setShares takes over the shares of tags, and puts all sources into their groups again.
func (s *Scheduler) setShares() {
	s.shares.setTags()
	for _, e := range s.entries.All {
		if e.used {
			s.shares.join(e)
		}
	}
}

// Put adds a source, or updates an edited one.
func (s *Scheduler) Put(now time.Time, w freshet.SourceWithStatus) {
	slot, known := s.ids.get(string(w.ID))
	if !known {
		slot = s.newSlot()
		*s.entries.At(slot) = entry{used: true, nextShared: slot}
		s.restoreStatus(now, s.entries.At(slot), w)
	}
	e := s.entries.At(slot)
	if e.gone { // it comes back while the last poll of it is still under way
		s.restoreStatus(now, e, w)
	}
	moves := e.host == nil || e.source.URL != w.URL
	if moves {
		e.host = s.hosts.named(w.Source.Host())
		s.removeFromDocument(slot)
	}
	if !known {
		if until := earlier(w.Status.NotBefore, now.Add(s.limits.Backoff.RetryAfter)); until.After(now) {
			if w.Status.Failure.Is(failure.RedirectTarget) {
				e.notBefore = max(e.notBefore, stampOf(until))
			} else {
				e.last().stayAway(until)
			}
			s.alarms.set(until)
		}
	}
	if e.source.URL != "" && (e.source.URL != w.URL || e.source.Robots != w.Robots) {
		e.failures, e.notBefore = 0, 0
	}
	if e.source.URL != "" && e.source.URL != w.URL {
		e.fresh, e.belied, e.again = 0, false, 0
		e.requests, e.route = 1, nil
	}
	was := e.source
	s.bars[slot] = 0
	e.source, e.gone = s.commons.pack(w.Source), false
	s.commons.drop(was)
	if !known {
		s.ids.put(string(w.ID), slot)
	}
	if moves {
		s.addToDocument(slot)
	}
	if s.timetables.assign(now, e) && !known { // what it missed before is made good
		e.timing.since = time.Time{}
	}
	s.shares.join(e)
	s.shares.enlist(e, !w.Paused)
	s.alarms.set(e.notBefore.time())
	s.putToLearners(now, slot)
	s.expect(now, slot)
	s.asks.quantum = -1 // edits are rare, and need not wait for the next quantum
}

// restoreStatus takes over how things stand with a source that is new here.
func (s *Scheduler) restoreStatus(now time.Time, e *entry, w freshet.SourceWithStatus) {
	e.upto, e.seen, e.begun = w.Status.Upto, stampOf(w.Status.Seen), stampOf(w.Status.Begun)
	e.failures, e.notBefore = int32(min(w.Status.Failures, math.MaxInt32)), stampOf(s.resumeBackoff(now, w))
	e.fresh, e.belied, e.again = stampOf(w.Status.Fresh), w.Status.Belied, stampOf(w.Status.Held.Again)
	e.requests, e.route = int32(min(max(1, w.Status.Requests), math.MaxInt32)), s.hosts.routeOf(w.Status.Route)
}

// resumeBackoff returns until when a source that was failing is left alone.
func (s *Scheduler) resumeBackoff(now time.Time, w freshet.SourceWithStatus) time.Time {
	if w.Status.Failures == 0 || w.Status.Begun.After(now) {
		return time.Time{}
	}
	return w.Status.Begun.Add(s.limits.Backoff.source(w.ID, w.Status.Failures, w.Status.Failure))
}

// putToLearners tells the policy, and those that learn beside it, of a source with the
// service level that holds for it.
func (s *Scheduler) putToLearners(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	source := e.source.whole()
	source.Weight = s.weightOf(source)
	source.Level, source.Aim = freshet.LevelOf(source, s.levels), freshet.ObjectiveOf(source, s.levels)
	if e.timing != nil {
		source.Strategy = e.timing.Strategy()
	}
	e.price = source.PriceAt(int(e.requests))
	if source.Recipe.Render.On {
		source.Cost = e.price
	}
	for _, l := range s.learners {
		l.Put(now, slot, source, e.seen.time())
	}
}

// SetLevels changes what is wanted of all sources with a tag.
func (s *Scheduler) SetLevels(now time.Time, byTag []freshet.TagLevel) {
	before := s.levels
	s.levels = byTag
	for slot, e := range s.entries.All {
		if !e.used || e.gone {
			continue
		}
		source := e.source.whole()
		if freshet.LevelOf(source, before) != freshet.LevelOf(source, byTag) || freshet.ObjectiveOf(source, before) != freshet.ObjectiveOf(source, byTag) {
			s.putToLearners(now, slot)
		}
	}
	s.asks.quantum = -1
}

// A Weight is what the changes of a source matter beside what its own weight says.
type Weight struct {
	Source freshet.SourceID
	Factor float64 // as how many changes one of the source counts, on the mean
}

// setWeight says what the changes of a source matter. It holds for the ID, whether there is
// such a source now or later.
func (s *Scheduler) setWeight(now time.Time, w Weight) {
	was, there := s.weights[w.Source]
	if there && was == w.Factor || !there && w.Factor == 1 {
		return
	}
	if w.Factor == 1 {
		delete(s.weights, w.Source)
	} else {
		s.weights[w.Source] = w.Factor
	}
	if slot, ok := s.Slot(w.Source); ok {
		s.putToLearners(now, slot)
	}
}

// weightOf returns the weight of a source with what its changes matter.
func (s *Scheduler) weightOf(source freshet.Source) float64 {
	if factor, ok := s.weights[source.ID]; ok {
		return source.Importance() * factor
	}
	return source.Weight
}

// ForecastOverride sets an imported forecast of when a source is likely to change.
type ForecastOverride struct {
	Source freshet.SourceID
	Given  *imported.Forecast // nil takes back the one before
}

// overrideForecast hands a forecast to the policy and the learners that can use one.
func (s *Scheduler) overrideForecast(c ForecastOverride) {
	slot, ok := s.Slot(c.Source)
	if !ok {
		return
	}
	for _, l := range s.learners {
		if takes, ok := l.(interface {
			OverrideForecast(freshet.Slot, *imported.Forecast)
		}); ok {
			takes.OverrideForecast(slot, c.Given)
		}
	}
}

// SetStrategies changes when sources with a tag are polled that have no strategy of
// their own.
func (s *Scheduler) SetStrategies(now time.Time, byTag []freshet.TagStrategy) {
	s.timetables.byTag = byTag
	for slot, e := range s.entries.All {
		if e.used && !e.gone && s.timetables.assign(now, e) {
			s.putToLearners(now, slot)
			s.expect(now, slot)
		}
	}
	s.asks.quantum = -1
}

// setClock says that the clock that strategies and active hours go by is so far ahead of the time of this
// world.
func (s *Scheduler) setClock(now time.Time, ahead time.Duration) {
	s.timetables.ahead, s.commons.hours.ahead = ahead, ahead
	for slot, e := range s.entries.All {
		if e.used && !e.gone && (e.timing != nil || e.source.hours != nil) {
			s.expect(now, slot)
		}
	}
}

// Remove forgets a source. A poll of it that is under way is still counted.
func (s *Scheduler) Remove(id freshet.SourceID) {
	slot, ok := s.ids.get(string(id))
	if !ok || s.entries.At(slot).gone {
		return
	}
	for _, l := range s.learners {
		l.Remove(slot)
	}
	s.shares.enlist(s.entries.At(slot), false)
	if e := s.entries.At(slot); e.busy {
		e.gone, e.asked = true, false // a source that is put again can be requested again
		return
	}
	s.release(slot)
}

// release gives the slot of a source back.
func (s *Scheduler) release(slot freshet.Slot) {
	delete(s.pushes, slot)
	s.removeSlot(slot)
}

// TakeRobots returns what the robots.txt files ask for that were read since they were last
// returned, of at most so many hosts: no poll begins meanwhile.
func (s *Scheduler) TakeRobots(most int) []RobotsRead { return s.hosts.takeRobots(most) }

// robotsRead keeps what the robots.txt of a host asks for.
func (s *Scheduler) robotsRead(now time.Time, r RobotsRead) {
	if s.hosts.keepRobots(now, r) {
		clear(s.bars)
	}
}
