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

// aimOf returns the place of an aim in freshet.Aims; that of all sources if it is none.
func (a *Auto) aimOf(aim objective.Objective) uint8 {
	if at := slices.Index(objective.Objectives, aim); at >= 0 {
		return uint8(at)
	}
	return a.aim
}

// The places of the aims.
const (
	forCaptures = iota
	forFreshness
	forAge
	aims
)

// curious is as explore, by aim. Where polls are not for captures, the index heeds all
// that the rate could be. What is left to find out are sources that seem too fast to be
// kept up with, and are not.
var curious = [aims]float64{forCaptures: explore, forFreshness: 0.01, forAge: 0.003}

// aimed returns what a poll is worth by what it is for, if that is not captures, when so
// many changes are expected after so many instants. The rate is not known: the index is
// the mean over all that it could be. One that seems too fast to be kept fresh may be
// slower, and is worth the more for it the longer it has not been seen.
func (a *Auto) aimed(slot int, expected, gap float64) (worth float64) {
	rate, index, clock := expected/gap, freshIndex, freshClock
	if a.aims[slot] == forAge {
		index, clock = ageIndex, ageClock
	}
	even := a.learner.Even(freshet.Slot(slot))
	a.learner.Suppose(freshet.Slot(slot), func(ratio, likely float64) {
		worth += likely * ((1-even)*index(ratio*rate, gap) + even*clock(ratio*rate, gap))
	})
	return worth
}

// weighAims works out what polls of the sources of a part bring by aim, if they are polled
// in turn.
func (a *Auto) weighAims(of *part, from, to int) {
	if !a.mixed() {
		return
	}
	var worth, count [aims]float64
	turn := max(1, a.learner.Turn()*float64(a.learner.Tick())/float64(a.every))
	for slot := from; slot < to; slot++ {
		gap := a.gaps[slot]
		if gap <= 0 || math.IsInf(a.wait[slot], 1) || a.rank.Factor(freshet.Slot(slot)) == 0 {
			continue
		}
		rate := a.wait[slot] / gap * float64(a.every) / float64(a.learner.Tick())
		aim := a.aims[slot]
		count[aim]++
		switch aim {
		case forFreshness:
			worth[aim] += freshIndex(rate, turn)
		case forAge:
			worth[aim] += ageIndex(rate, turn)
		default:
			worth[aim] += a.values[a.kind[slot]].Index(rate*turn, turn)
		}
	}
	of.aimWorth, of.aimedAt = worth, count
}

// scaleAims says how aims compare. Where sources are polled for different ends, what
// their polls are worth has to be in one unit: as much as a poll brings of a source that
// is polled in turn, on average over those with the same aim.
func (a *Auto) scaleAims() {
	a.scale = [aims]float64{1, 1, 1}
	if !a.mixed() {
		return
	}
	var worth, count [aims]float64
	for i := range a.parts {
		for aim := range a.scale {
			worth[aim] += a.parts[i].aimWorth[aim]
			count[aim] += a.parts[i].aimedAt[aim]
		}
	}
	for aim := range a.scale {
		if worth[aim] > 0 {
			a.scale[aim] = count[aim] / worth[aim]
		}
	}
}

// mixed reports whether there are sources with different aims.
func (a *Auto) mixed() bool {
	used := 0
	for _, n := range a.aiming {
		if n > 0 {
			used++
		}
	}
	return used > 1
}

// takeAim notes the aim of a source.
func (a *Auto) takeAim(slot freshet.Slot, s freshet.Source) {
	if a.held[slot] {
		a.aiming[a.aims[slot]]--
	}
	a.aims[slot], a.held[slot] = a.aimOf(s.Aim), true
	a.aiming[a.aims[slot]]++
}

// dropAim forgets the aim of a source.
func (a *Auto) dropAim(slot freshet.Slot) {
	if int(slot) < len(a.held) && a.held[slot] {
		a.aiming[a.aims[slot]]--
		a.held[slot] = false
	}
}

// aimNames lists the aims; the first is what is meant without one.
func aimNames() (names []string) {
	for _, aim := range objective.Objectives {
		names = append(names, string(aim))
	}
	return names
}

// A service level is a floor under what a poll is worth. From the moment at which
// a source has to be polled for its level to be kept, a poll of it is worth what
// the budget asks of any poll, and the more the longer it is overdue. It does not
// matter that the source has hardly changed by what is known of it.
//
// A level that no polling keeps, because the source changes too often for the gap
// that there has to be between two polls, has no floor: it would cost much and
// bring nothing.

// LevelShare is how much of the budget service levels may take together. Where
// they need more, all of them are kept worse alike.
const LevelShare = 0.5

// A pledge is the service level of a source.
type pledge struct {
	slot  freshet.Slot
	level objective.ServiceLevel
	life  objective.Visibility
	least time.Duration // between two polls, that the source itself asks for
	rate  float64       // changes a second that it is thought to have
}

// SetLimits tells of the limits under which Auto chooses. Where sources are ranked in parts,
// each part hears of it in its turn.
func (a *Auto) SetLimits(l sched.Limits) {
	if a.limits = l; len(a.parts) == 1 {
		a.parts[0].reached = -1
	}
}

// pledge takes note of the service level of a source, if it has one.
func (a *Auto) pledge(slot freshet.Slot, s freshet.Source) {
	at, has := a.pledged(slot)
	switch wanted := s.Level != (objective.ServiceLevel{}) && !s.Apart(); {
	case !wanted && has:
		a.pledges = slices.Delete(a.pledges, at, at+1)
	case wanted:
		if !has {
			a.pledges = slices.Insert(a.pledges, at, pledge{slot: slot})
		}
		p := &a.pledges[at]
		p.level, p.life, p.least = s.Level, s.Life, s.MinGap
	}
}

// pledged returns the place of a source among those with a level, and whether it
// has one.
func (a *Auto) pledged(slot freshet.Slot) (int, bool) {
	return slices.BinarySearchFunc(a.pledges, slot, func(p pledge, slot freshet.Slot) int { return cmp.Compare(p.slot, slot) })
}

// needed returns how many seconds after a poll the next is needed for the level,
// if the source changes at a rate; 0 if no poll can come so soon.
func (a *Auto) needed(p *pledge, rate float64) float64 {
	gap := p.level.Gap(p.life, rate)
	if least := cmp.Or(p.least, a.limits.SourceGap, time.Second); gap < least.Seconds() {
		return 0
	}
	return gap
}

// pledgesOf returns the pledges of the sources in [from, to).
func (a *Auto) pledgesOf(from, to int) []pledge {
	first, _ := a.pledged(freshet.Slot(from))
	last, _ := a.pledged(freshet.Slot(to))
	return a.pledges[first:last]
}

// weighPledges looks at how often the sources of a part with a level change, before
// anything else bends what is expected of them.
func (a *Auto) weighPledges(of *part, from, to int) {
	of.needs = 0
	pledges := a.pledgesOf(from, to)
	for i := range pledges {
		p := &pledges[i]
		if gap := a.gaps[p.slot] * a.learner.Tick().Seconds(); gap > 0 {
			p.rate = a.wait[p.slot] / gap
		}
		if gap := a.needed(p, p.rate); gap > 0 {
			of.needs += 1 / gap
		}
	}
}

// stretchPledges says how far levels can be kept.
func (a *Auto) stretchPledges() {
	needs := 0.0
	for i := range a.parts {
		needs += a.parts[i].needs
	}
	a.stretch = 1
	if all := a.limits.Budget.PerSecond(); all > 0 {
		a.stretch = max(1, needs/(LevelShare*all))
	}
}

// keepPledges raises what polls are worth that the service levels of the sources in
// [from, to) need.
func (a *Auto) keepPledges(from, to int) {
	pledges := a.pledgesOf(from, to)
	for i := range pledges {
		p := &pledges[i]
		factor := a.rank.Factor(p.slot)
		gap := a.gaps[p.slot] * a.learner.Tick().Seconds()
		if factor == 0 || gap <= 0 {
			continue
		}
		if floor := a.floor(p, p.rate, gap) / factor; floor > a.worth[p.slot] {
			a.worth[p.slot], a.lifted[p.slot] = floor, true
		}
	}
}

// floor returns what a poll of a source with a level is worth at least, so many
// seconds after the last.
func (a *Auto) floor(p *pledge, rate, gap float64) float64 {
	needed := a.needed(p, rate) * a.stretch
	if needed == 0 {
		return 0
	}
	// Sources are ranked once a tick: what is due within half of it is due.
	overdue := (gap + a.grid.Length.Seconds()/2) / needed
	if overdue < 1 {
		return 0
	}
	return cmp.Or(a.margin.price, 1) * overdue * overdue
}
