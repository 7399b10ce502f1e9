package learn

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
	"freshet/internal/units"
)

// given is an imported forecast of a source: how many changes are expected up
// to each moment while they hold, as a line with steps. They change what is expected, and
// nothing that is learned: the log alone teaches.
type override struct {
	from, until float64 // in ticks
	add         bool
	knots       []knot // in the order of time
}

// overrides are the imported forecasts.
type overrides struct {
	*expectations
	of map[freshet.Slot]*override // by slot; missing where there is none
}

// A knot is where the line bends or steps.
type knot struct {
	at          float64 // in ticks
	mass, count float64 // up to here, the step included
	steep, more float64 // of mass and of count a tick, from here on
}

// OverrideForecast sets how likely a source is to change at coming times, by an imported forecast;
// nil removes it.
func (l *Learner) OverrideForecast(slot freshet.Slot, c *imported.Forecast) {
	if l.next != nil {
		l.next.OverrideForecast(slot, c)
	}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return
	}
	delete(l.overrides.of, slot)
	if c == nil {
		return
	}
	if l.overrides.of == nil {
		l.overrides.of = map[freshet.Slot]*override{}
	}
	l.overrides.of[slot] = l.overrides.line(c)
}

// line draws the line of chances.
func (l *overrides) line(c *imported.Forecast) *override {
	g := &override{from: l.clock.at(c.From), until: l.clock.at(c.Until), add: c.Add}
	var bends []knot
	spread := func(from, until, count, mass float64) {
		from, until = min(max(from, g.from), g.until), min(until, g.until)
		if width := until - from; width > tiny {
			bends = append(bends,
				knot{at: from, steep: mass / width, more: count / width},
				knot{at: until, steep: -mass / width, more: -count / width})
			return
		}
		bends = append(bends, knot{at: from, mass: mass, count: count})
	}
	if c.Rate != nil {
		n := *c.Rate * l.clock.seconds() / units.Day.Seconds() * (g.until - g.from)
		spread(g.from, g.until, n, n)
	}
	for _, at := range c.Times {
		count, mass := at.Changes()
		spread(l.clock.at(at.At), l.clock.at(at.End()), count, mass)
	}
	slices.SortStableFunc(bends, func(a, b knot) int { return cmp.Compare(a.at, b.at) })
	last := knot{at: g.from}
	for _, b := range bends {
		mass, count := last.upto(b.at)
		last = knot{
			at: b.at, mass: mass + b.mass, count: count + b.count,
			steep: max(0, last.steep+b.steep), more: max(0, last.more+b.more),
		}
		g.knots = append(g.knots, last)
	}
	return g
}

// upto returns how much there is up to x, which is not before the knot.
func (k *knot) upto(x float64) (mass, count float64) {
	return k.mass + k.steep*(x-k.at), k.count + k.more*(x-k.at)
}

// upto returns how much there is up to x.
func (g *override) upto(x float64) (mass, count float64) {
	i := sort.Search(len(g.knots), func(i int) bool { return g.knots[i].at > x })
	if i == 0 {
		return 0, 0
	}
	return g.knots[i-1].upto(x)
}

// between returns how many changes are given from a to b, the first moment left out, and
// for which share of that time the chances hold.
func (g *override) between(a, b float64) (mass, count, share float64) {
	from, to := max(a, g.from), min(b, g.until)
	if !(from < to) {
		return 0, 0, 0
	}
	mass, count = g.upto(to)
	lessMass, lessCount := g.upto(from)
	if a < g.from { // what is given of the very beginning counts, too
		lessMass, lessCount = 0, 0
	}
	return max(0, mass-lessMass), max(0, count-lessCount), (to - from) / (b - a)
}

// overlay returns what is expected from a to b where so many changes would be expected
// without the chances.
func (g *override) overlay(a, b, expected float64) (mass, count float64) {
	mass, count, share := g.between(a, b)
	if g.add {
		share = 0
	}
	left := expected * (1 - share)
	return left + mass, left + count
}

// hold reports whether the forecast override of a source takes precedence at x over its
// announced change.
func (l *overrides) hold(slot freshet.Slot, x float64) bool {
	g := l.of[slot]
	return g != nil && !g.add && x > g.from && x <= g.until
}

// An Override is what the forecast override of a source says at a moment.
type Override struct {
	Expected float64 // changes at random since it was last seen that would be as likely to leave it as it is
	Count    float64 // changes since it was last seen
	Growth   float64 // of Expected a tick, in the minute that comes
	Later    float64 // the highest that their chance comes to by waiting a few minutes, less what waiting always brings
	Holds    bool    // they take the place of what was learned, at this moment
}

// Overrides calls tell for the sources whose forecast override counts at now, in the order of
// their slots. Expected is what Likely has set for the same moment and slots.
func (l *Learner) Overrides(now time.Time, from freshet.Slot, expected []float64, tell func(slot freshet.Slot, p *Override)) {
	if len(l.overrides.of) == 0 {
		return
	}
	x := l.moment(now)
	var at Override
	for _, slot := range within(l.overrides.of, from, len(expected)) {
		if l.overrides.at(slot, x, expected[slot-from], &at) {
			tell(slot, &at)
		}
	}
}

// OverrideAt returns what the forecast override of a source says at a moment, which may lie
// ahead, and whether there is one that counts.
func (l *Learner) OverrideAt(at time.Time, slot freshet.Slot) (p Override, ok bool) {
	if l.overrides.of[slot] == nil {
		return p, false
	}
	x := l.moment(at)
	return p, l.overrides.at(slot, x, l.foreseen(slot, l.pages.At(slot).last, x), &p)
}

// at works out what the forecast override of a source says at x, and reports whether that
// counts.
func (l *overrides) at(slot freshet.Slot, x, expected float64, p *Override) bool {
	g, page := l.of[slot], l.pages.At(slot)
	gap := x - page.last
	if gap <= 0 || x <= g.from || page.last >= g.until || page.kind&(unseen|paused|lists) != 0 {
		return false
	}
	p.Holds = !g.add && x <= g.until
	p.Expected, p.Count = g.overlay(page.last, x, expected)
	minute := 60 / l.clock.seconds()
	soon, _ := g.overlay(page.last, x+minute, expected*(1+minute/gap))
	p.Growth, p.Later = max(0, soon-p.Expected)/minute, 0
	for d := 1.0; d <= l.minutesAhead(); d++ {
		always := 1 + d*minute/gap
		later, _ := g.overlay(page.last, x+d*minute, expected*always)
		p.Later = max(p.Later, -math.Expm1(-later)/always)
	}
	return true
}
