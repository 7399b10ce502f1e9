package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
)

// Outlook returns what is thought of a source at now. It says nothing of worth
// and price, which are the policy's affair.
func (l *Learner) Outlook(now time.Time, slot freshet.Slot) outlook.Outlook {
	out := outlook.Outlook{At: now}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return out
	}
	x := l.moment(now)
	l.enter(slot)
	p := l.pages.At(slot)
	s := p.site
	l.runCourse()
	l.observeSite(s)
	s.at(l.expectations, x, l.ahead(x))
	out.Tally = l.Tally(slot)
	var f vector
	thought, bend := l.rates(slot), l.bend(slot, x)
	out.Now, out.Taught = thought.Times(bend), int(p.imported)
	e := outlook.Evidence{Thought: thought, Unbounded: l.unbounded(slot), Tick: l.config.Tick, Tally: out.Tally}
	e.Taught, e.Told = l.taughtAt(slot, x)
	out.Rate = outlook.RateOf(e)
	level, likely := l.fix.level(), thought
	mixed := l.thought(slot)
	likely.Mean = l.quantile(&mixed, 0.5) / l.clock.seconds() // the mean is that of a few high rates
	out.Moment = out.Rate.At(bend/level, likely.Times(level), out.Tally)
	if p.kind&unseen != 0 {
		out.Chance = 1 // that a poll brings something new
		return out
	}
	out.Since = l.clock.time(p.last)
	out.Heard = l.hints.summary(slot)
	out.Foretold, out.Resting = l.announced.summary(slot), l.announced.restSummary(slot)
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
	m.redraw(l.turns(x-p.last), l.priorOf(p))
	chance := m.foresee(&l.grid, l.priorOf(p), mass, &l.world)
	out.Chance = 1 - (1-h.Pending)*math.Exp(-l.fix.expect(&f, chance))
	if b := l.minutely.of[slot]; b != nil && b.good && h.Pending == 0 && l.ownShape[byMinute] > 0 {
		out.Chance = b.chance(l.clock.minute(x)-l.clock.minute(p.last), out.Chance)
	}
	if g := l.overrides.of[slot]; g != nil {
		chance, _ := g.overlay(p.last, x, -math.Log1p(-bounded(out.Chance)))
		_, out.Expected = g.overlay(p.last, x, out.Expected)
		out.Chance = -math.Expm1(-chance)
	}
	return out
}

// Hint returns what indexes say of a source at now, and it of itself, and whether that is
// anything.
func (l *Learner) Hint(now time.Time, slot freshet.Slot) (h Hint, ok bool) {
	if !l.hints.has(slot) && l.announced.get(slot) == nil || l.pages.At(slot).kind&unseen != 0 {
		return h, false
	}
	x, s := l.moment(now), l.pages.At(slot).site
	if x <= l.pages.At(slot).last {
		return h, false
	}
	l.enter(slot)
	l.runCourse()
	l.observeSite(s)
	s.at(l.expectations, x, l.ahead(x))
	var f vector
	mass := l.describe(slot, x, &f)
	return h, l.hint(slot, x, l.know(slot)*mass*l.pushes.untold(slot)*math.Exp(l.fix.log(&f)), &h)
}

// bend returns how much faster than its mean rate a source is expected to change
// at x, by the time of day and the like.
func (l *expectations) bend(slot freshet.Slot, x float64) float64 {
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

// rates returns the changes a second of a source over all hours, with the range in which
// they lie nine times in ten by all memories together.
func (l *population) rates(slot freshet.Slot) outlook.Range {
	mixed, mean, factor := l.thought(slot), l.know(slot), 1/l.clock.seconds()
	return outlook.Range{
		Mean: mean * factor,
		Low:  min(mean, l.quantile(&mixed, 0.05)) * factor,
		High: max(mean, l.quantile(&mixed, 0.95)) * factor,
	}
}

// unbounded reports whether what polls of a source saw fits the fastest rates as well as
// others: nearly every poll found a change, and none is dated.
func (l *population) unbounded(slot freshet.Slot) bool {
	const asWell = -3 // logarithm of how well the fastest fits, next to the best
	return l.minds.At(slot).of[long][points-1] > asWell
}

// thought returns what is thought of the rate of a source by all memories
// together.
func (l *population) thought(slot freshet.Slot) (mixed spread) {
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
func (l *population) quantile(q *spread, share float64) float64 {
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
func (l *population) Tally(slot freshet.Slot) outlook.Tally {
	if !l.began || int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return outlook.Tally{}
	}
	c, weight := l.counts.At(slot), l.scale.at(float64(l.open))
	return c.bend(outlook.Tally{
		Polls: float64(c.polls), Found: float64(c.found), Captured: float64(c.captured), Happened: float64(c.happened), Variance: float64(c.variance), Doubt: float64(c.off),
		Delay: float64(c.delay), Watched: float64(c.watched), Stale: float64(c.stale), Age: float64(c.oldAge), Behind: float64(c.behind),
	}.Scale(1/weight), float64(c.missed)/weight, weight, &l.bursts.mix)
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
func (l *population) Seen(slot freshet.Slot) time.Time {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil || l.pages.At(slot).kind&unseen != 0 {
		return time.Time{}
	}
	return l.clock.time(l.pages.At(slot).last)
}

// Upto returns the last outcome that was learned from.
func (l *Learner) Upto() freshet.Cursor { return l.upto }

// thursday is where the week begins that bins count: on the first day of 1970.
const thursday = 3

// Rhythm returns what was learned of when a source changes: how far the profiles of its
// site and of its own bend what is expected, and what was seen.
func (l *Learner) Rhythm(now time.Time, slot freshet.Slot) (r outlook.Rhythm) {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return r
	}
	o := l.Outlook(now, slot)
	r.Rate, r.Happened, r.Watched, r.Taught = o.Rate, o.Happened, o.Watched, o.Taught
	r.Foretold, r.Resting = o.Foretold, o.Resting
	own := l.ownOf(slot) // which Outlook has brought up to date
	r.Own = own.is()
	cycle := func(c int) (bins []outlook.RhythmBin) {
		sum := 0.0
		for i := range l.clock.shape[c] {
			b := l.rhythmBin(l.pages.At(slot).site.profile, own, c, first[c]+i)
			sum += b.Factor
			bins = append(bins, b)
		}
		for i := range bins {
			bins[i].Factor *= float64(len(bins)) / sum
		}
		return bins
	}
	r.Hours, r.Minutes = cycle(byHour), cycle(byMinute)
	if days := cycle(byWeekday); len(days) == 7 {
		r.Weekdays = append(days[7-thursday:], days[:7-thursday]...)
	}
	return r
}

// rhythmBin returns one bin of a cycle. What was seen is that of the source, if it has a
// profile of its own in the cycle, and else that of its site.
func (l *Learner) rhythmBin(of *profile, own own, cycle, bin int) outlook.RhythmBin {
	log := (1 + l.fix.weight[profileOfSite]) * math.Log(float64(of.factor[bin]))
	seen, due := of.seen[bin], of.due[bin]
	if own.is() && l.ownShape[cycle] > 0 {
		var factor float32
		factor, seen, due = own.bin(bin)
		log += (1 + l.fix.weight[profileOfPage]) * math.Log(float64(factor))
	}
	return outlook.RhythmBin{
		Factor: math.Exp(min(mostCorrected, max(-mostCorrected, log))),
		Seen:   float64(seen), Due: float64(due),
	}
}

// supposes is how likely a rate has to be to be listed.
const supposes = 1e-6

// Suppose yields the rates that a source may have: how many times the rate that is
// expected, and how likely. The ratios have a mean of 1.
func (l *population) Suppose(slot freshet.Slot, tell func(ratio, likely float64)) {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		tell(1, 1)
		return
	}
	thought := l.thought(slot)
	mean := thought.mean(&l.grid)
	for i, likely := range thought {
		if likely > supposes {
			tell(l.grid[i]/mean, likely)
		}
	}
}

// Novelty sets dst[slot], for every slot up to len(dst), to how little is known of
// the site of a source of which nothing is known itself: 1 if no poll has told
// anything of any page of the site, 0 if a sample of the site has been seen, as large
// as the square root of its pages, or if something is known of the source or it is
// alone at its site. Once the priors have been renewed, they say something of every
// source, and none is strange any more.
func (l *population) Novelty(dst []float64) {
	for _, s := range l.sites {
		s.known = 0
	}
	for _, p := range l.pages.All {
		if p.site != nil && p.rate > 0 && p.kind&lists == 0 {
			p.site.known++
		}
	}
	for slot := range dst {
		dst[slot] = 0
		if slot >= l.pages.Len() {
			continue
		}
		p := l.pages.At(freshet.Slot(slot))
		if p.site == nil || p.rate > 0 || p.kind&lists != 0 || p.site.pages < 2 {
			continue
		}
		dst[slot] = max(0, 1-float64(p.site.known)/math.Sqrt(float64(p.site.pages)))
	}
}
