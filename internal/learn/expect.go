package learn

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A moment is how things stand with a site at some moment: where its clock
// stands, and the sums of its courses since the oldest tick remembered.
type moment struct {
	clock          float64
	plain, bent, a float64
	prior          float64 // mean rate of a source of which nothing is known
}

// expectations are how many changes of sources are expected by their rates, profiles and
// activity.
type expectations struct {
	activities
	fix correction
}

// oldest returns the oldest tick whose activity is remembered.
func (l *timeline) oldest() int64 { return l.open - span + 1 }

// A look is a moment at which things are looked at: x, which is not before the tick
// under way. Ticks that no outcome has reached are gone through with what the profiles
// say of them. It changes nothing that is learned.
type look struct {
	x     float64
	ahead []phase
	count uint64 // of looks
}

// begin looks at another moment.
func (k *look) begin(l *expectations, x float64) {
	l.runCourse()
	*k = look{x: x, ahead: l.ahead(x), count: k.count + 1}
}

// at works out how things stand with a site, once a look.
func (k *look) at(l *expectations, s *site) {
	if s.looked == k.count {
		return
	}
	s.looked = k.count
	l.enterSite(s)
	l.observeSite(s)
	s.at(l, k.x, k.ahead)
	s.now.prior = l.priorAt(s).mean(&l.grid)
	if s.claimed != nil {
		for i := range s.claimed {
			s.claimed[i].mean = s.claimed[i].prior.mean(&l.grid)
		}
	}
}

// ahead returns the phases of the ticks after the one under way up to x, at most
// those of one window.
func (l *timeline) ahead(x float64) []phase {
	tick := int64(math.Floor(x))
	var phases []phase
	for t := l.open + 1; t <= tick && t <= l.open+window; t++ {
		phases = append(phases, l.clock.phase(t))
	}
	return phases
}

// runCourse works out the course of the activity of all sources. The courses of sites are
// to be worked out after it.
func (l *activities) runCourse() {
	l.course.total, l.views.next = 0, 0
	for t := l.oldest(); t <= l.open; t++ {
		l.course.run(t, l.active.ratio(t, 1, worldActivityGrip))
	}
}

// at works out how things stand at x.
func (s *site) at(l *expectations, x float64, ahead []phase) {
	within := min(1, x-float64(l.open)) // of the tick under way
	rest := 0.0                         // of what comes after it
	for i, ph := range ahead {
		width := min(1, x-float64(l.open+1+int64(i)))
		rest += width * s.profile.at(&l.clock.shape, ph)
	}
	if beyond := x - float64(l.open+1) - float64(len(ahead)); beyond > 0 {
		rest += beyond
	}
	s.now.clock = s.upto + within*s.pace + rest
	if s.pulse != nil {
		i, c := place(l.open), l.viewOf(s)
		s.now.plain = float64(c.plain.sum[i]) + within*float64(c.plain.value[i]) + rest
		s.now.bent = float64(c.bent.sum[i]) + within*float64(c.bent.value[i]) + rest
		s.now.a = float64(c.a.sum[i]) + within*float64(c.a.value[i]) + rest
	}
}

// describe returns the features of the stretch from the last poll of a source
// until x, for which observeSite has been called, and the mass of it.
func (l *expectations) describe(slot freshet.Slot, x float64, f *vector) (mass float64) {
	p := l.pages.At(slot)
	s := p.site
	last := min(p.last, x)
	tick := int64(math.Floor(last))
	plain := max(s.now.clock-p.upto, tiny)
	*f = vector{always: 1}
	recent := tick > l.open-span && tick <= l.open
	switch {
	case s.pulse != nil && recent:
		c := l.viewOf(s)
		bent := s.now.bent - c.bent.upto(last, tick)
		f[everywhere] = logRatio(bent, s.now.plain-c.plain.upto(last, tick))
		f[onSite] = logRatio(s.now.a-c.a.upto(last, tick), bent)
	case s.pulse != nil && tick <= l.open: // what is before the oldest tick is as expected
		before := plain - s.now.plain
		f[everywhere] = logRatio(before+s.now.bent, plain)
		f[onSite] = logRatio(before+s.now.a, before+s.now.bent)
	case s.pulse == nil && recent:
		since := x - last
		f[everywhere] = logRatio(l.course.total+max(0, x-float64(l.open+1))-l.course.upto(last, tick), since+max(0, float64(l.open+1)-x))
	}
	f[profileOfSite] = logRatio(plain, x-last)
	mass = plain
	if own := l.ownOf(slot); own.is() {
		mass = l.ownMass(p, own, x)
		f[profileOfPage] = logRatio(mass, plain)
	}
	return mass
}

// tiny stands for no time at all where one has to divide by it.
const tiny = 1e-9

func logRatio(a, b float64) float64 {
	if !(a > tiny) || !(b > tiny) {
		return 0
	}
	return math.Log(a / b)
}

// ownMass returns the time since the last poll on a source's own clock.
func (l *expectations) ownMass(p *page, own own, x float64) float64 {
	mass := p.mass
	from := max(p.last, float64(l.open))
	for t := int64(math.Floor(from)); float64(t) < x && t <= l.open+window; t++ {
		width := min(x, float64(t+1)) - max(from, float64(t))
		ph, pace := l.phaseOf(t), p.site.pace
		if t > l.open {
			ph = l.clock.phase(t)
			pace = p.site.profile.at(&l.clock.shape, ph)
		}
		mass += width * pace * own.at(&l.ownShape, ph)
	}
	return max(mass, tiny)
}

// Expected sets dst[slot], for every slot up to len(dst), to how many changes
// are expected since the source was last seen, at now; to 0 where there is no
// source or it is not to be polled, and to infinity where it has never been
// seen. Gaps is set to how long ago that was, in ticks.
//
// The number is what the mean rate leads to, not the chance of a change made up
// for by its logarithm: it keeps growing with time for sources of which little
// is known, and that is all the exploration there has to be. No source falls
// below a small share of what it would get if all got the same.
func (l *Learner) Expected(now time.Time, dst, gaps []float64) {
	l.Likely(now, 0, dst, gaps, nil)
	for slot, gap := range gaps[:len(dst)] {
		dst[slot] = max(dst[slot], l.Least()*gap)
	}
}

// Least returns how many changes a tick Expected takes every source to have at
// least: a small share of what it would get if all got the same.
func (l *population) Least() float64 { return floor * l.fair() }

// Likely is as Expected, but says what is really thought: of a source that has not
// changed for long it can be next to nothing. It begins with the slot from, which the
// first of each slice is for. Credits, unless it is nil, is set to how many times as
// much is to be expected of each source when polls are given out.
func (l *Learner) Likely(now time.Time, from freshet.Slot, dst, gaps, credits []float64) {
	x := l.moment(now)
	l.looking.begin(l.expectations, x)
	var f vector
	all := l.all.prior.mean(&l.grid)
	for i := range dst {
		dst[i], gaps[i] = 0, 0
		if credits != nil {
			credits[i] = 1
		}
		slot := from + freshet.Slot(i)
		if int(slot) >= l.pages.Len() {
			continue
		}
		p := l.pages.At(slot)
		switch {
		case p.site == nil || p.kind&paused != 0:
			continue
		case p.kind&unseen != 0:
			dst[i] = math.Inf(1)
			continue
		}
		gap := x - p.last
		if gap <= 0 {
			continue
		}
		l.looking.at(l.expectations, p.site)
		l.enter(slot)
		mass := l.describe(slot, x, &f)
		rate, prior := float64(p.rate), p.site.now.prior
		c, k := p.claims(), l.inGroup(p.group)
		switch {
		case c != nil && k != nil:
			prior = c.mean * k.mean / prior // nearly
		case c != nil:
			prior = c.mean
		case k != nil:
			prior = k.mean
		}
		if rate == 0 || p.kind&blank != 0 && p.group != nil {
			rate = prior
		}
		dst[i] = rate * mass * math.Exp(l.fix.log(&f))
		gaps[i] = gap
		if credits != nil {
			credits[i] = math.Exp(l.credit.log(rate, prior, all))
		}
	}
	for _, slot := range within(l.pushes.of, from, len(dst)) {
		dst[slot-from] *= l.pushes.untold(slot)
	}
}

// within returns the n slots from one on that are in a map, in their order.
func within[T any](m map[freshet.Slot]T, from freshet.Slot, n int) (slots []freshet.Slot) {
	if len(m) > n { // it is quicker to ask for each
		for slot := from; slot < from+freshet.Slot(n); slot++ {
			if _, ok := m[slot]; ok {
				slots = append(slots, slot)
			}
		}
		return slots
	}
	for slot := range m {
		if slot >= from && slot < from+freshet.Slot(n) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slots
}

// FullPass returns in how many ticks every source can be polled once, by the polls of
// late.
func (l *population) FullPass() float64 { return 1 / l.fair() }

// floor is the share of an even turn that no source falls below.
const floor = 0.02

// moment returns now in ticks, but not before the tick under way: outcomes have
// been later than that. Until the first outcome the tick under way is that of
// now, and the clocks of the sites have run evenly up to it.
func (l *background) moment(now time.Time) float64 {
	x := l.clock.at(now)
	if l.began {
		return max(x, float64(l.open))
	}
	if tick := int64(math.Floor(x)); tick != l.open {
		l.keepAll()
		for _, s := range l.sites {
			s.upto += float64(tick - l.open)
		}
		l.open = tick
		l.allEntered()
	}
	return x
}
