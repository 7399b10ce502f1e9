package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/column"
)

// Observe implements [freshet.Learner]. Outcomes come in the order of the log;
// one that was learned from already is passed over. Time in a Learner moves only
// by what is in the log, whenever Observe is called.
func (l *Learner) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Cursor > 0 {
		if o.Cursor <= l.upto {
			return
		}
		l.upto = o.Cursor
	}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return
	}
	ended := l.clock.at(o.Ended)
	l.advance(ended)
	l.enter(slot)
	l.keep(slot)
	if o.Result != freshet.First && l.pages.At(slot).kind&lists == 0 { // the budget is not spent on first looks for long
		l.polls++
	}
	p := l.pages.At(slot)
	if p.kind&unseen != 0 && !o.Since.IsZero() { // the log begins after it was first seen
		p.kind &^= unseen
		p.last = min(p.last, l.clock.at(o.Since))
		p.upto = p.site.clock(p.last, l.open)
	}
	if !o.Result.Seen() {
		return
	}
	var was contribution
	l.contribute(slot, &was)
	if o.Quiet == freshet.QuietNoise {
		l.discardNoise(slot)
	}
	// A poll during which the clock was set back began later than it ended.
	x := max(min(l.clock.at(o.Began), ended), float64(l.open-window+1))
	if p.kind&unseen == 0 && o.Result != freshet.First && x > p.last {
		l.learn(slot, x, &o)
	}
	if p.rate == 0 {
		l.first(slot, x, &o)
	}
	l.noteBlank(slot)
	l.recontribute(slot, &was)
	l.hints.polled(slot, x)
	l.hints.read(slot, x, &o)
	l.announced.read(slot, x, &o)
	p.kind &^= unseen
	p.last = x
	p.upto = p.site.clock(x, l.open)
	p.mass = 0
	l.foresee(slot)
}

// mostlyFound is the share of polls that found a change from which on noise explains the changes.
const mostlyFound = 0.8

// discardNoise forgets the changes of a source that were found before its noise was recognized, if
// nearly every poll found one: then they cannot be distinguished from noise. What they taught about others stays.
func (l *Learner) discardNoise(slot freshet.Slot) {
	c := l.counts.At(slot)
	if c.polls == 0 || c.found < mostlyFound*c.polls {
		return
	}
	*c, *l.minds.At(slot) = count{life: c.life}, mind{}
	l.minutely.of[slot] = nil
	l.dropOwn(slot)
	l.pages.At(slot).rate = 0
}

// SkipOutcome steps over an outcome that there is nothing to learn from, as of a source that is gone.
func (l *Learner) SkipOutcome(o freshet.Cursor) { l.upto = max(l.upto, o) }

// learn takes in what a poll at x saw.
func (l *Learner) learn(slot freshet.Slot, x float64, o *freshet.Outcome) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	s := p.site
	if p.rate == 0 {
		l.first(slot, p.last, o)
	}
	if p.kind&blank != 0 && p.group != nil { // its rate is that of its like, which may have moved
		m.recall(&l.grid, l.priorOf(p))
		p.rate = float32(m.mean(&l.world))
	}
	l.beginOwn(slot)
	if p.kind&lists != 0 {
		l.learnAlone(slot, &sighting{at: x, mass: x - p.last, exposure: x - p.last, changed: o.Result == freshet.Changed})
		return
	}
	l.runCourse()
	l.observeSite(s)
	s.at(l.expectations, max(x, float64(l.open)), nil)
	var f vector
	see := sighting{at: x, mass: l.describe(slot, x, &f), changed: o.Result == freshet.Changed}
	see.exposure = see.mass * math.Exp(l.fix.log(&f))
	whole := l.know(slot) * see.exposure
	l.hints.check(slot, x, whole, see.changed)
	l.date(slot, o, &see)
	pushed, unpushed := l.pushes.check(slot, whole, o, &see)
	said, unsaid := l.announced.check(slot, whole, o, &see)
	told, open := l.hints.use(slot, whole, see.dated.n > 0, &see)
	open *= unpushed * unsaid
	if told || pushed || said {
		l.attribute(slot, &see)
		l.learnAlone(slot, &see)
		return
	}

	see.mass *= open // what follows holds what was thought against what was found
	due := float64(p.rate) * see.exposure
	if !see.changed {
		due *= open
	}
	turns := l.turns(x - p.last)
	prior := *l.priorOf(p)
	l.judgeKin(slot, &see)
	m.redraw(turns, &prior)
	chance := m.foresee(&l.grid, &prior, see.mass, &l.world)
	expected := l.fix.expect(&f, chance)
	likely := -math.Expm1(-expected)
	chanceByMinute, keepsMinute := l.minutely.check(slot, &see, likely)
	if keepsMinute {
		likely = bounded(chanceByMinute)
	} else {
		l.credit.see(due, float64(p.rate), prior.mean(&l.grid), l.all.prior.mean(&l.grid), see.changed)
		l.fix.learn(&f, expected, see.changed)
	}
	l.reliability.add(likely, see.changed)
	l.counts.At(slot).rhythm.add(l.scale.at(x), bounded(-math.Expm1(-float64(m.rate[long])*see.exposure)), see.changed)
	l.addPoll(slot, &see)
	l.seeBursts(slot, see.mass*math.Exp(l.fix.log(&f)), &see)
	l.attribute(slot, &see)
	m.see(&l.grid, &prior, &see, turns, &l.world)
	m.recall(&l.grid, &prior)
	p.rate = float32(m.mean(&l.world))
}

// seeBursts takes in what a poll says of bursts, of a time of such an exposure.
func (l *population) seeBursts(slot freshet.Slot, exposure float64, see *sighting) {
	if see.dated.n > 0 {
		return
	}
	c, p, weight := l.counts.At(slot), l.pages.At(slot), l.scale.at(see.at)
	typical := float64(c.watched/c.polls) / l.clock.seconds()
	if !(typical > 0) { // all that was counted has faded
		typical = see.at - p.last
	}
	c.bursts.see(weight, see.at-p.last, exposure, float64(l.minds.At(slot).rate[long]), typical, float64(c.polls) < youngest*weight, see.changed, &l.bursts)
	thought := c.bursts.thought(&l.bursts.mix)
	l.bursts.mix.learn(&thought)
}

// learnAlone takes in a poll that says something of its source, but not of how well
// changes are foreseen: it was made because an index told of one, or is of an index.
func (l *population) learnAlone(slot freshet.Slot, see *sighting) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	prior := l.priorOf(p)
	turns := l.turns(see.at - p.last)
	m.redraw(turns, prior)
	l.addPoll(slot, see)
	m.take(&l.grid, see, turns)
	m.recall(&l.grid, prior)
	p.rate = float32(m.mean(&l.world))
}

// attribute says when what a poll saw is likely to have happened: changes go to
// the ticks since the last poll by how likely each was to have one, or to the
// one they are dated. What is known to have been quiet counts as such.
func (l *expectations) attribute(slot freshet.Slot, see *sighting) {
	p := l.pages.At(slot)
	s, own, rate := p.site, l.ownToAdd(slot), float64(p.rate)
	var bent *bends // by its own profile, as that was before this poll
	if own.is() {
		b := own.bends()
		bent = &b
	}
	first := max(int64(math.Floor(p.last)), l.open-window+1)
	var seen [window]float64
	l.place(slot, see, first, bent, &seen)
	counts := 1.0 // for profiles
	if see.changed && see.dated.n == 0 {
		counts = tells(rate * see.mass)
	}
	for t := first; t <= l.open && float64(t) < see.at; t++ {
		if see.dated.n > 0 && t < see.dated.since { // of this nothing is known
			continue
		}
		ph := l.phaseOf(t)
		width := min(see.at, float64(t+1)) - max(p.last, float64(t))
		n := seen[t-first]
		due := rate * width * l.paceAt(s, t, ph)
		relative := 1.0
		if bent != nil {
			relative = bent.at(&l.ownShape, ph)
			own.add(&l.ownShape, ph, counts*n, counts*due)
		}
		s.profile.add(&l.clock.shape, ph, counts*n, counts*due*relative)
		l.common.add(&l.clock.shape, ph, counts*n, counts*due*relative)
		if t > l.open-span {
			l.active.add(t, n, due)
			if s.pulse != nil {
				s.add(t, n, due)
			}
		}
	}
	s.dirty = true
	if own.is() {
		own.settle()
	}
}

// tells returns how much a poll that found a change counts for profiles, where so many were
// expected. After a long time a poll finds a change whatever the profile is, and would only
// confirm it: nights without polls would keep the rate that was first thought of them.
func tells(expected float64) float64 {
	const sure = 8
	return math.Exp(min(0, sure-expected))
}

// place says how many of the changes that a poll saw fell into each tick from
// the first one on.
func (l *expectations) place(slot freshet.Slot, see *sighting, first int64, bent *bends, seen *[window]float64) {
	p := l.pages.At(slot)
	switch {
	case !see.changed:
		return
	case see.dated.n > 0: // what else there was is not known, and not made up
		for _, tick := range see.dated.ticks[:see.dated.n] {
			if tick >= first {
				seen[tick-first] = 1
			}
		}
		return
	}
	sum := max(0, float64(first)-p.last) // of what is too long ago to be remembered
	for t := first; t <= l.open && float64(t) < see.at; t++ {
		width := min(see.at, float64(t+1)) - max(p.last, float64(t))
		w := width * l.activityAt(p.site, t)
		if bent != nil {
			w *= bent.at(&l.ownShape, l.phaseOf(t))
		}
		seen[t-first] = w
		sum += w
	}
	if !(sum > 0) {
		clear(seen[:])
		return
	}
	count := estimate.IfAny(float64(p.rate)*see.mass) / sum
	for t := first; t <= l.open && float64(t) < see.at; t++ {
		seen[t-first] *= count
	}
}

// paceAt returns the pace of a site's clock in one of the last ticks.
func (l *activities) paceAt(s *site, tick int64, ph phase) float64 {
	switch {
	case tick == l.open:
		return s.pace
	case s.pulse != nil && tick > l.open-span:
		return float64(s.pulse.pace[place(tick)])
	}
	return s.profile.at(&l.clock.shape, ph)
}

// activityAt returns that pace, bent by what was seen in the tick on the site
// and elsewhere.
func (l *activities) activityAt(s *site, tick int64) float64 {
	switch {
	case s.pulse != nil && tick > l.open-span:
		return float64(l.viewOf(s).a.value[place(tick)])
	case tick > l.open-span:
		return l.paceAt(s, tick, l.phaseOf(tick)) * float64(l.course.value[place(tick)])
	}
	return l.paceAt(s, tick, l.phaseOf(tick))
}

// redraw lets the switching memory's rate be drawn again, as often as it would
// be in so many turns. A turn is the time in which all sources can be polled.
func (m *mind) redraw(turns float64, prior *spread) {
	q := m.of[switching].weigh(prior)
	m.of[switching].relax(&q, prior, math.Exp(-switches*turns))
}

// foresee returns what all memories together take the chance of a change in a
// mass to be.
func (m *mind) foresee(g *grid, prior *spread, mass float64, world *[memories]float64) (chance float64) {
	var stays spread
	for i, rate := range g {
		stays[i] = exp(-rate * mass)
	}
	weights := m.weights(world)
	for k := range m.of {
		q := m.of[k].weigh(prior)
		same := 0.0
		for i, w := range q {
			same += w * stays[i]
		}
		chance += weights[k] * bounded(1-same)
	}
	return chance
}

// bounded keeps a chance off 0 and 1.
func bounded(chance float64) float64 { return min(1-1e-9, max(1e-9, chance)) }

// see takes in what a poll saw, after so many turns. Memories are held to
// whether there was a change, which is what they are for, and not to its date.
func (m *mind) see(g *grid, prior *spread, saw *sighting, turns float64, world *[memories]float64) {
	var likely spread
	for i, rate := range g {
		likely[i] = exp(-rate * saw.mass)
		if saw.changed {
			likely[i] = 1 - likely[i]
		}
	}
	top := math.Inf(-1)
	for k := range m.of {
		q := m.of[k].weigh(prior)
		right := 0.0
		for i, w := range q {
			right += w * likely[i]
		}
		score := math.Log(bounded(right))
		m.mix[k] = float32(pageGrip*float64(m.mix[k]) + score)
		world[k] += worldStep * score
		top = max(top, world[k])
	}
	for k := range world {
		world[k] = worldGrip * (world[k] - top)
	}
	m.take(g, saw, turns)
}

// take takes in what a poll saw, and holds no memory to it.
func (m *mind) take(g *grid, saw *sighting, turns float64) {
	var fit spread
	for i, rate := range g {
		fit[i] = saw.fit(rate)
	}
	for k := range m.of {
		if keep := keeps[k]; keep > 0 {
			m.of[k].forget(math.Pow(keep, 1-byTime+byTime*turns))
		}
		m.of[k].admit(&fit)
	}
}

// longestGap is how many ticks without an outcome are gone through one by one.
// After a longer one, nothing that was going on before it is remembered anyway.
const longestGap = span

// advance lets ticks pass up to the moment x. Only outcomes drive it, so that
// the log of outcomes alone decides what a Learner thinks.
func (l *Learner) advance(x float64) {
	tick := int64(math.Floor(x))
	switch {
	case !l.began:
		l.beginFirst(tick)
	case tick-l.open > longestGap || tick < l.open-window:
		l.work(wholePass)
		l.jump(tick)
	}
	for l.open < tick {
		l.close()
		l.begin(l.open + 1)
		l.todo.site, l.todo.page = 0, 0
		l.startSweep()
	}
	l.work(l.sliceNow())
}

// beginFirst enters the first tick. Forecasts made before it leave no trace.
func (l *Learner) beginFirst(tick int64) {
	l.keepAll()
	l.began, l.open, l.scale.from = true, tick, float64(tick)
	for _, s := range l.sites {
		s.upto = 0
	}
	l.jump(tick)
	for _, p := range l.pages.All {
		if p.site != nil {
			p.upto, p.mass = p.site.clock(p.last, tick), 0
		}
	}
	l.reshape()
}

// jump begins again at a tick, far from the one under way or before it: a long
// silence, or a clock that was set back.
func (l *Learner) jump(tick int64) {
	l.keepAll()
	skipped := float64(max(0, tick-l.open))
	l.usual *= 1 - l.fading(skipped)
	l.scale.from += float64(min(0, tick-l.open)) // what was counted before counts as it did
	for _, p := range l.pages.All {
		if p.site != nil {
			p.mass += max(0, float64(tick)-max(p.last, float64(l.open)))
			p.last = min(p.last, float64(tick))
		}
	}
	l.hints.clampTimes(float64(tick))
	for _, s := range l.sites {
		s.upto += skipped
		if s.pulse != nil {
			s.pulse.reset()
		}
	}
	l.active = activity{}
	for t := tick - window + 1; t < tick; t++ {
		l.phases[int(uint64(t)%window)] = l.clock.phase(t)
	}
	l.begin(tick)
	l.arriveAll()
	l.fade()
}

// close ends the tick under way.
func (l *Learner) close() {
	l.work(wholePass)
	l.pace += (l.polls - l.pace) / paceMemory
	l.usual += (l.polls - l.usual) * l.fading(1)
	l.polls = 0
	l.fade()
}

// paceMemory is over how many ticks the polls made are averaged.
const paceMemory = 256

// usualMemory is over how long they are averaged for the usual pace.
const usualMemory = 48 * time.Hour

// fading returns the share of the usual pace that fades in so many ticks.
func (l *background) fading(ticks float64) float64 {
	return -math.Expm1(-ticks / max(paceMemory, usualMemory.Seconds()/l.clock.seconds()))
}

// begin begins a tick.
func (l *Learner) begin(tick int64) {
	l.open = tick
	l.phases[int(uint64(tick)%window)] = l.clock.phase(tick)
	l.active.open(tick)
	l.common.settle(&l.clock.shape, nil, profileGrip)
}

// How many changes count as much as what is thought of a profile otherwise.
const (
	profileGrip = 20
	ownGrip     = 3
)

// phaseOf returns the phase of one of the last ticks.
func (l *timeline) phaseOf(tick int64) phase { return l.phases[int(uint64(tick)%window)] }

// Profiles of its own help a source only if it is seen more often than the cycle
// turns.
const (
	hoursWithin   = 24 * 60 * 60 // seconds between polls
	minutesWithin = 30 * 60
)

// reshape decides which profiles sources have for themselves. One that is there
// stays until it is far from being of use.
func (l *background) reshape() {
	was, gap := l.ownShape, l.revisit()
	within := func(c int, limit float64) int {
		if was[c] > 0 {
			limit *= 2
		}
		if gap > limit {
			return 0
		}
		return l.clock.shape[c]
	}
	next := shape{byHour: within(byHour, hoursWithin), byMinute: within(byMinute, minutesWithin)}
	if next[byHour] == 0 {
		next = shape{}
	}
	if next != was { // until now they were what they were
		l.catchUp(wholePass)
	}
	if l.ownShape = next; next[byHour] == 0 {
		if was[byHour] > 0 {
			l.keepAll()
		}
		l.hours, l.minutes = column.Some[freshet.Slot, hours]{}, column.Some[freshet.Slot, minutes]{}
	}
}
