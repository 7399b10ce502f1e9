package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// Outlook returns what is thought of a source at now. It says nothing of worth
// and price, which are the policy's affair.
func (l *Learner) Outlook(now time.Time, slot freshet.Slot) freshet.Outlook {
	out := freshet.Outlook{At: now}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return out
	}
	x := l.moment(now)
	l.enter(slot)
	p := l.pages.At(slot)
	s := p.site
	l.runCourse()
	l.observeSite(s)
	s.at(l, x, l.ahead(x))
	out.Tally = l.Tally(slot)
	var f vector
	bend := l.bend(slot, x)
	out.Rate = l.rates(slot, bend/l.clock.seconds())
	if p.kind&unseen != 0 {
		out.Chance = 1 // that a poll brings something new
		return out
	}
	out.Since = l.clock.time(p.last)
	out.Heard = l.heardOf(slot)
	out.Foretold, out.Resting = l.foretoldOf(slot), l.restingOf(slot)
	if x <= p.last {
		return out
	}
	mass := l.describe(slot, x, &f)
	mass *= l.pushes.untold(slot)
	out.Expected = l.know(slot) * mass * math.Exp(l.fix.log(&f))
	var h Hint
	if heard := out.Expected > 0 && l.hint(slot, x, out.Expected, &h); heard {
		mass *= h.Expected / out.Expected
		out.Expected = h.Expected + h.Pending*h.Changes
	}
	m := *l.minds.At(slot) // a copy: to look is not to learn
	m.redraw((x-p.last)*l.fair(), l.priorOf(p))
	chance := m.foresee(&l.grid, l.priorOf(p), mass, &l.world)
	out.Chance = 1 - (1-h.Pending)*math.Exp(-l.fix.expect(&f, chance))
	if b := l.beats[slot]; b != nil && b.good && h.Pending == 0 && l.ownShape[byMinute] > 0 {
		out.Chance = b.chance(l.clock.minute(x)-l.clock.minute(p.last), out.Chance)
	}
	if g := l.given[slot]; g != nil {
		chance, _ := g.overlay(p.last, x, -math.Log1p(-bounded(out.Chance)))
		_, out.Expected = g.overlay(p.last, x, out.Expected)
		out.Chance = -math.Expm1(-chance)
	}
	return out
}

// Hint returns what indexes say of a source at now, and it of itself, and whether that is
// anything.
func (l *Learner) Hint(now time.Time, slot freshet.Slot) (h Hint, ok bool) {
	if !l.isHeard(slot) && l.saysOf(slot) == nil || l.pages.At(slot).kind&unseen != 0 {
		return h, false
	}
	x, s := l.moment(now), l.pages.At(slot).site
	if x <= l.pages.At(slot).last {
		return h, false
	}
	l.enter(slot)
	l.runCourse()
	l.observeSite(s)
	s.at(l, x, l.ahead(x))
	var f vector
	mass := l.describe(slot, x, &f)
	return h, l.hint(slot, x, l.know(slot)*mass*l.pushes.untold(slot)*math.Exp(l.fix.log(&f)), &h)
}

// bend returns how much faster than its mean rate a source is expected to change
// at x, by the time of day and the like.
func (l *Learner) bend(slot freshet.Slot, x float64) float64 {
	p := l.pages.At(slot)
	l.enterSite(p.site)
	ph := l.clock.phase(int64(math.Floor(x)))
	site := p.site.profile.at(&l.clock.shape, ph)
	log := l.fix.weight[always] + (1+l.fix.weight[profileOfSite])*math.Log(site)
	if own := l.ownOf(slot); own.is() {
		log += (1 + l.fix.weight[profileOfPage]) * math.Log(own.at(&l.ownShape, ph))
	}
	return math.Exp(min(mostCorrected, max(-mostCorrected, log)))
}

// rates returns the rate of a source times a factor, with the range in which it
// lies nine times in ten by all memories together.
func (l *Learner) rates(slot freshet.Slot, factor float64) freshet.Range {
	mixed := l.thought(slot)
	return freshet.Range{
		Mean: l.know(slot) * factor,
		Low:  l.quantile(&mixed, 0.05) * factor,
		High: l.quantile(&mixed, 0.95) * factor,
	}
}

// thought returns what is thought of the rate of a source by all memories
// together.
func (l *Learner) thought(slot freshet.Slot) (mixed spread) {
	m, prior := l.minds.At(slot), l.priorOf(l.pages.At(slot))
	for k, w := range m.weights(&l.world) {
		q := m.of[k].weigh(prior)
		for i := range mixed {
			mixed[i] += w * q[i]
		}
	}
	return mixed
}

// quantile returns the rate below which the share of a spread lies. A point of
// the grid stands for the rates around it.
func (l *Learner) quantile(q *spread, share float64) float64 {
	step := math.Log(l.grid[1] / l.grid[0])
	below := 0.0
	for i, w := range q {
		if below+w >= share || i == points-1 {
			within := 0.5
			if w > 0 {
				within = min(1, max(0, (share-below)/w))
			}
			return l.grid[i] * math.Exp(step*(within-0.5))
		}
		below += w
	}
	return l.grid[points-1]
}

// Tally returns what became of the changes of a source. What is long past counts
// for less.
func (l *Learner) Tally(slot freshet.Slot) freshet.Tally {
	if !l.began || int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return freshet.Tally{}
	}
	c, weight := l.counts.At(slot), l.scale.at(float64(l.open))
	return c.rhythm.bend(freshet.Tally{
		Polls: float64(c.polls), Found: float64(c.found), Captured: float64(c.captured), Happened: float64(c.happened), Variance: float64(c.variance), Doubt: float64(c.off),
		Delay: float64(c.delay), Watched: float64(c.watched), Stale: float64(c.stale), Age: float64(c.oldAge), Behind: float64(c.behind),
	}.Scale(1/weight), float64(c.missed)/weight, weight)
}

// Changed returns the chance that a source has changed since it was first known, where
// so many changes are expected since it was last seen. Of one that was never seen only
// what is thought of its like is known.
func (l *Learner) Changed(now time.Time, slot freshet.Slot, expected float64) float64 {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return 0
	}
	if l.counts.At(slot).found > 0 {
		return 1
	}
	p, rate := l.pages.At(slot), l.know(slot)
	if p.kind&unseen != 0 {
		expected = rate * max(0, l.moment(now)-p.last)
	}
	if expected < 0.01 || !(rate > 0) { // as good, and quicker
		return expected
	}
	// Where little is known of a rate, the mean is that of a few high ones.
	return l.minds.At(slot).foresee(&l.grid, l.priorOf(p), expected/rate, &l.world)
}

// Seen returns when a source was last seen; zero if never.
func (l *Learner) Seen(slot freshet.Slot) time.Time {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil || l.pages.At(slot).kind&unseen != 0 {
		return time.Time{}
	}
	return l.clock.time(l.pages.At(slot).last)
}

// Upto returns the last outcome that was learnt from.
func (l *Learner) Upto() freshet.Cursor { return l.upto }
