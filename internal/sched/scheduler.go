package sched

import (
	"iter"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/column"
)

// A Scheduler holds what is known of every source and says which poll to make
// next. Make one with New.
type Scheduler struct {
	policy   freshet.Policy
	learners []freshet.Learner // the policy, after those that learn beside it
	limits   Limits
	levels   []freshet.TagLevel // that are wanted of all sources with a tag

	weights map[freshet.SourceID]float64 // what the changes of sources matter; none means 1

	strategies []freshet.TagStrategy         // of all sources with a tag that have none of their own
	tables     map[string]*freshet.Timetable // of all strategies that there were
	ahead      time.Duration                 // of the clock that they go by
	planned    deadlines                     // when each source with a strategy is to be polled
	reserved   int                           // requests that planned polls want soon, and others are not to spend

	purse   purse
	ceiling ceiling
	started bool

	entries column.Of[freshet.Slot, entry]
	bars    []stamp // by slot: before that the source is not polled, since its host is shut; 0 if that is not known
	free    []freshet.Slot
	seats   map[freshet.SourceID]freshet.Slot // kept for sources that are yet to be put, see Reserve
	slots   *lookup                           // by ID
	commons commons                           // what is said of sources
	hosts   map[string]*host
	told    []*host // whose manners were told and not taken since, each once
	groups  map[string]*group
	sets    map[string]*groups // of groups that sources belong to, by their names
	minima  []*group           // those that are granted a part of the budget
	pressed bool               // a soft max has held back a source at this decision
	spare   bool               // what is left of the budget is being spent, and no soft max binds
	active  int                // sources that are polled
	edits   int                // see Edits
	sum     uint64             // see Sum

	docs    *lookup           // by URL, one of the sources that have it
	claim   claim             // what the first poll that waits for several requests or hosts needs
	hops    []*pendingRequest // requests that polls under way wait to make, first come first served
	asked   []freshet.Slot    // wanted by hand, first come first served
	overdue deadlines         // when each source's MaxGap runs out
	alarms  alarms            // when something that is shut opens
	pushes  map[freshet.Slot]*pendingPush
	again   time.Time // when the policy wants to be asked again
	beat    int64     // in which the policy was last asked
	filled  bool      // it then had as many to offer as could be polled
	skipped bool      // something has happened since, and waits for the next beat

	flying int            // polls chosen and not ended
	slow   int            // of them, those that have given their place away
	ready  []freshet.Poll // chosen
	given  int            // of those, already handed out
}

// An entry is one source as the scheduler knows it.
type entry struct {
	source    packed
	host      *host
	upto      freshet.Cursor // the last outcome that what follows rests on
	seen      stamp          // Began of the last poll that saw it
	begun     stamp          // when it was last polled
	notBefore stamp          // backing off until then
	fresh     stamp          // until when its server says that it stays as it is
	again     stamp          // when a suspect capture wants a second look
	failures  int32
	requests  int32        // that its last poll took: what the next one reserves
	timing    *timing      // by its strategy; nil if it has none
	price     float64      // of a poll, as those who learn were last told
	route     *route       // that those went to; nil if all went to its own host
	flight    *flight      // of the poll under way; nil if there is none
	meter     meter        // of its share of the budget
	groups    *groups      // that it belongs to; nil if to none
	shares    *host        // among whose sources it counts; nil if it is not polled
	mate      freshet.Slot // the next of the sources with its URL, in a ring; itself if it is alone
	belied    bool         // what its server said of how long it stays fresh was wrong once
	busy      bool
	aboard    bool // it is busy because another source of its document is polled
	slow      bool // the poll under way is
	gone      bool // removed while a poll of it was under way
	asked     bool
	hurry     bool // the next poll that is asked for need not wait for MinGap
	used      bool
}

// polledAt notes that the source was polled at a time.
func (e *entry) polledAt(at time.Time) { e.begun = max(e.begun, stampOf(at)) }

// New returns a Scheduler for a policy within limits. What the policy is told of
// sources and outcomes, those that learn beside it are told first.
func New(p freshet.Policy, l Limits, beside ...freshet.Learner) *Scheduler {
	s := &Scheduler{
		policy:   p,
		learners: append(slices.Clone(beside), p),
		limits:   l.withDefaults(),
		hosts:    map[string]*host{},
		groups:   map[string]*group{},
		sets:     map[string]*groups{},
		commons:  commons{},
		weights:  map[freshet.SourceID]float64{},
		beat:     -1,
	}
	s.slots = newLookup(func(slot freshet.Slot) string { return string(s.entries.At(slot).source.ID) })
	s.docs = newLookup(func(slot freshet.Slot) string { return s.entries.At(slot).source.URL })
	s.shareOut()
	s.tellLimits()
	return s
}

// tellLimits tells the policy under which limits it chooses, if it wants to know.
func (s *Scheduler) tellLimits() {
	if p, ok := s.policy.(interface{ SetLimits(l Limits) }); ok {
		p.SetLimits(s.limits)
	}
}

// start sets the first instant. Before it no time has passed.
func (s *Scheduler) start(now time.Time) {
	if s.started {
		return
	}
	s.started = true
	s.purse = newPurse(s.limits.Budget, now)
	s.ceiling = newCeiling(s.limits.Budget)
}

// SetLimits changes the limits from now on. What has been spent stays spent. It goes through all
// sources only if one of them may open sooner or later by that.
func (s *Scheduler) SetLimits(now time.Time, l Limits) {
	before := s.limits
	s.limits = l.withDefaults()
	s.tellLimits()
	if s.started {
		s.purse, s.beat, s.skipped = newPurse(s.limits.Budget, now), -1, false
		s.ceiling.allow(s.limits.Budget)
	}
	if s.limits.opensAs(before) {
		return
	}
	s.shareOut()
	clear(s.bars)
	if !s.started {
		return
	}
	for _, h := range s.hosts {
		if !h.touched.IsZero() {
			s.alarms.set(h.touched.Add(s.limits.Hosts.delayOf(h)))
			s.alarms.set(s.hostOpens(h))
		}
	}
	for _, e := range s.entries.All {
		if e.used && !s.courteous(now, e, freshet.ByPolicy) {
			s.remind(now, e)
		}
	}
}

// Put adds a source or tells of an edit to one.
func (s *Scheduler) Put(now time.Time, w freshet.Watched) {
	slot, known := s.slots.get(string(w.ID))
	if !known {
		slot = s.grow(w.ID)
		*s.entries.At(slot) = entry{used: true, mate: slot}
		s.stand(now, s.entries.At(slot), w)
	}
	e := s.entries.At(slot)
	if e.gone { // it comes back while the last poll of it is still under way
		s.stand(now, e, w)
	}
	moves := e.host == nil || e.source.URL != w.URL
	if moves {
		e.host = s.hostNamed(w.Source.Host())
		s.unpair(slot)
	}
	if !known {
		if until := earlier(w.Standing.NotBefore, now.Add(s.limits.Backoff.RetryAfter)); until.After(now) {
			e.last().stayAway(until)
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
	s.noteEdit(e, w.Source)
	e.source, e.gone = s.commons.pack(w.Source), false
	s.commons.drop(was)
	if !known {
		s.slots.put(string(w.ID), slot)
	}
	if moves {
		s.pair(slot)
	}
	if s.timed(now, e) && !known { // what it missed before is made good
		e.timing.since = time.Time{}
	}
	s.join(e)
	s.enlist(e, !w.Paused)
	s.alarms.set(e.notBefore.time())
	s.tellSource(now, slot)
	s.expect(now, slot)
	s.beat = -1 // edits are rare, and need not wait for the next beat
}

// tellSource tells the policy, and those that learn beside it, of a source with the
// service level that holds for it.
func (s *Scheduler) tellSource(now time.Time, slot freshet.Slot) {
	e := s.entries.At(slot)
	source := e.source.whole()
	source.Weight = s.weighed(source)
	source.Level, source.Aim = freshet.LevelOf(source, s.levels), freshet.AimOf(source, s.levels)
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
		if freshet.LevelOf(source, before) != freshet.LevelOf(source, byTag) || freshet.AimOf(source, before) != freshet.AimOf(source, byTag) {
			s.tellSource(now, slot)
		}
	}
	s.beat = -1
}

// stand takes over how things stand with a source that is new here.
func (s *Scheduler) stand(now time.Time, e *entry, w freshet.Watched) {
	e.upto, e.seen, e.begun = w.Standing.Upto, stampOf(w.Standing.Seen), stampOf(w.Standing.Begun)
	e.failures, e.notBefore = int32(min(w.Standing.Failures, math.MaxInt32)), stampOf(s.resumeBackoff(now, w))
	e.fresh, e.belied, e.again = stampOf(w.Standing.Fresh), w.Standing.Belied, stampOf(w.Standing.Held.Again)
	e.requests, e.route = int32(min(max(1, w.Standing.Requests), math.MaxInt32)), s.routeOf(w.Standing.Route)
}

// resumeBackoff returns until when a source that was failing is left alone.
func (s *Scheduler) resumeBackoff(now time.Time, w freshet.Watched) time.Time {
	if w.Standing.Failures == 0 || w.Standing.Begun.After(now) {
		return time.Time{}
	}
	return w.Standing.Begun.Add(s.limits.Backoff.source(w.ID, w.Standing.Failures, w.Standing.Failure))
}

// grow returns a slot for a new source.
func (s *Scheduler) grow(id freshet.SourceID) freshet.Slot {
	if slot, kept := s.seats[id]; kept && !s.entries.At(slot).used {
		return slot
	}
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.bars = append(s.bars, 0)
	return s.entries.Add(entry{})
}

// hostNamed returns a host. It is not forgotten when its last source goes: the
// politeness owed to it outlives them.
func (s *Scheduler) hostNamed(name string) *host {
	h := s.hosts[name]
	if h == nil {
		h = &host{name: name}
		s.hosts[name] = h
	}
	return h
}

// Remove forgets a source. A poll of it that is under way is still counted.
func (s *Scheduler) Remove(id freshet.SourceID) {
	slot, ok := s.slots.get(string(id))
	if !ok || s.entries.At(slot).gone {
		return
	}
	for _, l := range s.learners {
		l.Remove(slot)
	}
	s.noteRemoval(s.entries.At(slot))
	s.enlist(s.entries.At(slot), false)
	if e := s.entries.At(slot); e.busy {
		e.gone, e.asked = true, false // whoever puts it again can ask again
		return
	}
	s.release(slot)
}

// release gives a slot back.
func (s *Scheduler) release(slot freshet.Slot) {
	e := s.entries.At(slot)
	s.unpair(slot)
	s.slots.drop(string(e.source.ID))
	delete(s.pushes, slot)
	s.commons.drop(e.source)
	*e, s.bars[slot] = entry{}, 0
	s.free = append(s.free, slot)
}

// Slot returns the slot under which the policy knows a source.
func (s *Scheduler) Slot(id freshet.SourceID) (freshet.Slot, bool) {
	slot, ok := s.slots.get(string(id))
	if !ok || s.entries.At(slot).gone {
		return 0, false
	}
	return slot, true
}

// Slots returns a number that is above every slot in use.
func (s *Scheduler) Slots() int { return s.entries.Len() }

// Len returns how many sources there are.
func (s *Scheduler) Len() int { return s.entries.Len() - len(s.free) }

// Source returns the source in a slot, and whether there is one.
func (s *Scheduler) Source(slot freshet.Slot) (freshet.Source, bool) {
	if slot < 0 || int(slot) >= s.entries.Len() || !s.entries.At(slot).used || s.entries.At(slot).gone {
		return freshet.Source{}, false
	}
	return s.entries.At(slot).source.whole(), true
}

// ID returns the ID of the source in a slot, and whether there is one.
func (s *Scheduler) ID(slot freshet.Slot) (freshet.SourceID, bool) {
	if slot < 0 || int(slot) >= s.entries.Len() || !s.entries.At(slot).used || s.entries.At(slot).gone {
		return "", false
	}
	return s.entries.At(slot).source.ID, true
}

// HostName returns the host of the source in a slot.
func (s *Scheduler) HostName(slot freshet.Slot) string { return s.entries.At(slot).host.name }

// Polled reports whether a poll of the source in a slot has ended, whatever came of it.
func (s *Scheduler) Polled(slot freshet.Slot) bool { return s.entries.At(slot).upto != 0 }

// All yields every source with its slot, in no order that means anything.
func (s *Scheduler) All() iter.Seq2[freshet.Slot, freshet.Source] {
	return func(yield func(freshet.Slot, freshet.Source) bool) {
		for slot, e := range s.entries.All {
			if e.used && !e.gone && !yield(slot, e.source.whole()) {
				return
			}
		}
	}
}
