package policy

import (
	"math"
	"slices"

	"freshet/internal/freshet"
)

// aimOf returns the place of an aim in freshet.Aims; that of all sources if it is none.
func (a *Auto) aimOf(aim freshet.Aim) uint8 {
	if at := slices.Index(freshet.Aims, aim); at >= 0 {
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
	for _, aim := range freshet.Aims {
		names = append(names, string(aim))
	}
	return names
}
