package policy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched"
)

// The places of the objectives in [objective.Objectives].
const (
	forCaptures = iota
	forFreshness
	forAge
	allObjectives
)

// objectives are what polls of each source are for.
type objectives struct {
	usual uint8                  // of sources that have none of their own
	of    []uint8                // by slot
	held  []bool                 // by slot: there is a source, and it is counted
	count [allObjectives]int     // sources
	scale [allObjectives]float64 // of what polls are worth
}

// place returns the place of an objective; the usual one if it is none.
func (j *objectives) place(o objective.Objective) uint8 {
	if at := slices.Index(objective.Objectives, o); at >= 0 {
		return uint8(at)
	}
	return j.usual
}

// grow makes room for a slot.
func (j *objectives) grow() { j.of, j.held = append(j.of, 0), append(j.held, false) }

// put sets the objective of a source.
func (j *objectives) put(slot freshet.Slot, s freshet.Source) {
	j.remove(slot)
	j.of[slot], j.held[slot] = j.place(s.Aim), true
	j.count[j.of[slot]]++
}

// remove forgets the objective of a source.
func (j *objectives) remove(slot freshet.Slot) {
	if int(slot) < len(j.held) && j.held[slot] {
		j.count[j.of[slot]]--
		j.held[slot] = false
	}
}

// mixed reports whether there are sources with different objectives.
func (j *objectives) mixed() bool {
	used := 0
	for _, n := range j.count {
		if n > 0 {
			used++
		}
	}
	return used > 1
}

// rescale says how objectives compare. Where sources are polled for different ends, what
// their polls are worth has to be in one unit: as much as a poll brings of a source that
// is polled once a full pass, on average over those with the same objective.
func (j *objectives) rescale(parts []part) {
	j.scale = [allObjectives]float64{1, 1, 1}
	if !j.mixed() {
		return
	}
	for o := range j.scale {
		worth, count := 0.0, 0.0
		for i := range parts {
			worth += parts[i].byObjective[o].worth
			count += parts[i].byObjective[o].count
		}
		if worth > 0 {
			j.scale[o] = count / worth
		}
	}
}

// curious is as explore, by objective. Where polls are not for captures, the index heeds all
// that the rate could be. What is left to find out are sources that seem too fast to be
// kept up with, and are not.
var curious = [allObjectives]float64{forCaptures: explore, forFreshness: 0.01, forAge: 0.003}

// aimed returns what a poll is worth by what it is for, if that is not captures, when so
// many changes are expected after so many steps. The rate is not known: the index is
// the mean over all that it could be. One that seems too fast to be kept fresh may be
// slower, and is worth the more for it the longer it has not been seen.
func (a *Auto) aimed(slot int, expected, gap float64) (worth float64) {
	rate, index := expected/gap, freshIndex
	if a.objectives.of[slot] == forAge {
		index = ageIndex
	}
	a.learner.Suppose(freshet.Slot(slot), func(ratio, likely float64) { worth += likely * index(ratio*rate, gap) })
	return worth
}

// weighObjectives works out what polls of the sources of a part bring by objective, if each
// source is polled once a full pass.
func (a *Auto) weighObjectives(p *part, from, to int) {
	if !a.objectives.mixed() {
		return
	}
	p.byObjective = [allObjectives]struct{ worth, count float64 }{}
	pass := max(1, a.learner.FullPass()*float64(a.learner.Tick())/float64(a.step))
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		if gap <= 0 || math.IsInf(a.wait[slot], 1) || a.rank.Factor(freshet.Slot(slot)) == 0 {
			continue
		}
		rate := a.wait[slot] / gap * float64(a.step) / float64(a.learner.Tick())
		sum := &p.byObjective[a.objectives.of[slot]]
		sum.count++
		switch a.objectives.of[slot] {
		case forFreshness:
			sum.worth += freshIndex(rate, pass)
		case forAge:
			sum.worth += ageIndex(rate, pass)
		default:
			sum.worth += a.values.of(slot).Index(rate*pass, pass)
		}
	}
}

// objectiveNames lists the objectives; the first is the default.
func objectiveNames() (names []string) {
	for _, o := range objective.Objectives {
		names = append(names, string(o))
	}
	return names
}

// LevelShare is how much of the budget service levels may take together. Where
// they need more, all of them are kept worse alike.
const LevelShare = 0.5

// serviceLevels are the levels of the sources that have one, and how far they can be kept.
//
// A service level is a floor under what a poll is worth. From the moment at which
// a source has to be polled for its level to be kept, a poll of it is worth what
// the budget asks of any poll, and the more the longer it is overdue, however rarely
// the source seems to change.
//
// A level that no polling keeps, because the source changes too often for the gap
// that there has to be between two polls, has no floor: it would cost much and
// bring nothing.
type serviceLevels struct {
	levels  []serviceLevel // in the order of their slots
	limits  sched.Limits
	stretch float64 // of the gaps that levels need, where all together need too much
}

// A serviceLevel is that of one source.
type serviceLevel struct {
	slot  freshet.Slot
	level objective.ServiceLevel
	life  objective.Visibility
	least time.Duration // between two polls, that the source itself asks for
	rate  float64       // changes a second that it is thought to have
}

// put sets the service level of a source, or removes it if the source has none.
func (l *serviceLevels) put(slot freshet.Slot, s freshet.Source) {
	at, has := l.find(slot)
	switch wanted := s.Level != (objective.ServiceLevel{}) && !s.Apart(); {
	case !wanted && has:
		l.levels = slices.Delete(l.levels, at, at+1)
	case wanted:
		if !has {
			l.levels = slices.Insert(l.levels, at, serviceLevel{slot: slot})
		}
		v := &l.levels[at]
		v.level, v.life, v.least = s.Level, s.Life, s.MinGap
	}
}

// find returns the place of a source among those with a level, and whether it
// has one.
func (l *serviceLevels) find(slot freshet.Slot) (int, bool) {
	return slices.BinarySearchFunc(l.levels, slot, func(v serviceLevel, slot freshet.Slot) int { return cmp.Compare(v.slot, slot) })
}

// between returns the levels of the sources in [from, to).
func (l *serviceLevels) between(from, to int) []serviceLevel {
	first, _ := l.find(freshet.Slot(from))
	last, _ := l.find(freshet.Slot(to))
	return l.levels[first:last]
}

// gap returns how many seconds after a poll the next is needed for the level,
// if the source changes at a rate; 0 if no poll can come so soon.
func (l *serviceLevels) gap(v *serviceLevel, rate float64) float64 {
	gap := v.level.Gap(v.life, rate)
	if least := cmp.Or(v.least, l.limits.SourceGap, time.Second); gap < least.Seconds() {
		return 0
	}
	return gap
}

// bound works out how far levels can be kept.
func (l *serviceLevels) bound(parts []part) {
	needs := 0.0
	for i := range parts {
		needs += parts[i].needs
	}
	l.stretch = 1
	if all := l.limits.Budget.PerSecond(); all > 0 {
		l.stretch = max(1, needs/(LevelShare*all))
	}
}

// floor returns what a poll of a source with a level is worth at least at a price of polls,
// so many seconds after the last. What becomes due within half of the time between two
// rankings is due.
func (l *serviceLevels) floor(v *serviceLevel, rate, gap, price float64, ranked time.Duration) float64 {
	needed := l.gap(v, rate) * l.stretch
	if needed == 0 {
		return 0
	}
	overdue := (gap + ranked.Seconds()/2) / needed
	if overdue < 1 {
		return 0
	}
	return cmp.Or(price, 1) * overdue * overdue
}

// weighLevels looks at how often the sources of a part with a level change, before
// anything else bends what is expected of them.
func (a *Auto) weighLevels(p *part, from, to int) {
	p.needs = 0
	levels := a.levels.between(from, to)
	for i := range levels {
		v := &levels[i]
		if gap := a.gaps[v.slot] * a.learner.Tick().Seconds(); gap > 0 {
			v.rate = a.wait[v.slot] / gap
		}
		if gap := a.levels.gap(v, v.rate); gap > 0 {
			p.needs += 1 / gap
		}
	}
}

// keepLevels raises what polls are worth that the service levels of the sources in
// [from, to) need.
func (a *Auto) keepLevels(from, to int) {
	levels := a.levels.between(from, to)
	for i := range levels {
		v := &levels[i]
		factor := a.rank.Factor(v.slot)
		gap := a.gaps[v.slot] * a.learner.Tick().Seconds()
		if factor == 0 || gap <= 0 {
			continue
		}
		if floor := a.levels.floor(v, v.rate, gap, a.prices.price, a.passes.steps.Length) / factor; floor > a.worth[v.slot] {
			a.worth[v.slot], a.lifted[v.slot] = floor, true
		}
	}
}
