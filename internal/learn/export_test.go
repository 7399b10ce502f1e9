package learn

import (
	"time"

	"freshet/internal/freshet"
)

// Exp is exp.
var Exp = exp

// What the tests of single parts need of them.
type (
	Clock      = clock
	Mind       = mind
	Profile    = profile
	Own        = own
	Activity   = activity
	Correction = correction
)

// The sizes of those parts.
const (
	Points   = points
	Bins     = mostBins
	Span     = span
	Window   = window
	Features = features
)

// Makers of those parts.
var (
	NewClock      = newClock
	NewProfile    = newProfile
	NewCorrection = newCorrection
)

// At returns a moment in ticks.
func (c clock) At(t time.Time) float64 { return c.at(t) }

// Time returns the moment at x ticks.
func (c clock) Time(x float64) time.Time { return c.time(x) }

// Phase returns the bins of a tick, each counted from the first of its cycle.
func (c clock) Phase(tick int64) (hour, weekday, minute int) {
	ph := c.phase(tick)
	return int(ph[byHour]), int(ph[byWeekday]) - first[byWeekday], int(ph[byMinute]) - first[byMinute]
}

// Shape returns how many bins there are in a day, a week and an hour.
func (c clock) Shape() [3]int { return c.shape }

// Grid returns the rates that are told apart, in changes a tick.
func (c clock) Grid() []float64 {
	g := newGrid(c)
	return g[:]
}

// NewPrior returns what is thought before any poll.
func NewPrior(rates []float64, every float64) []float64 {
	p := newPrior((*grid)(rates), every)
	return p[:]
}

// PoolPrior returns the prior of a pool of sources of which the sum of what is
// thought is given. A pool without a parent is that of all sources.
func PoolPrior(sum, parent []float64, pages int) []float64 {
	p := pool{sum: spread(sum), pages: pages}
	if parent == nil {
		p.learnAlone()
	} else {
		p.learn((*spread)(parent))
	}
	return p.prior[:]
}

// Poll lets a mind predict a poll and learn from it, so many turns after the
// last one, and returns the chance of a change that it predicted.
func (m *mind) Poll(rates, prior []float64, mass, exposure float64, changed bool, turns float64, world *[3]float64) float64 {
	g, p := (*grid)(rates), (*spread)(prior)
	m.redraw(turns, p)
	chance := m.foresee(g, p, mass, world)
	m.see(g, p, &sighting{mass: mass, exposure: exposure, changed: changed}, turns, world)
	m.recall(g, p)
	return chance
}

// Mean returns the rate that a mind expects, a tick.
func (m *mind) Mean(world [3]float64) float64 { return m.mean(&world) }

// Add counts changes seen and due in an hour of the day, on a Monday, in the
// first minutes.
func (p *profile) Add(hour int, seen, due float64) {
	for _, bin := range (phase{uint8(hour), uint8(first[byWeekday]), uint8(first[byMinute])}) {
		p.seen[bin] += float32(seen)
		p.due[bin] += float32(due)
	}
}

// AddBent counts the same where what was due heeds the profile.
func (p *profile) AddBent(hour int, seen, due float64) {
	s := shape{24, 7, 12}
	p.add(&s, phase{uint8(hour), uint8(first[byWeekday]), uint8(first[byMinute])}, seen, due)
}

// Settle works the factors of hours, weekdays and minutes out again.
func (p *profile) Settle(parent *profile, strength float64) {
	p.settle(&shape{24, 7, 12}, parent, strength)
}

// NewOwn returns the profile that a source has for itself, of hours and minutes.
func NewOwn() Own {
	return own{hours: &hours{level: 1, scale: 1}, minutes: &minutes{level: 1, scale: 1}, shape: &shape{24, 7, 12}}
}

// Add counts changes seen and due in an hour of the day, in the first minutes.
func (o own) Add(hour int, seen, due float64) {
	o.add(&shape{byHour: 24, byMinute: 12}, phase{uint8(hour), 0, uint8(first[byMinute])}, seen, due)
}

// Settle brings the factors up to what is counted.
func (o own) Settle() { o.settle() }

// Factors returns those of hours and minutes.
func (o own) Factors() (hours, minutes []float32) {
	b := o.bends()
	return b[:24], b[31:]
}

// Factors returns those of each cycle.
func (p *profile) Factors() (hours, weekdays, minutes []float32) {
	return p.factor[:24], p.factor[24:31], p.factor[31:]
}

// Factor returns that of a moment; the cycles left out have no bins.
func (p *profile) Factor(c clock, tick int64, left ...int) float64 {
	s := c.shape
	for _, cycle := range left {
		s[cycle] = 0
	}
	return p.at(&s, c.phase(tick))
}

// Open, Add and Ratio are those of an activity.
func (a *activity) Open(tick int64)                        { a.open(tick) }
func (a *activity) Add(tick int64, seen, due float64)      { a.add(tick, seen, due) }
func (a *activity) Ratio(tick int64, p, g float64) float64 { return a.ratio(tick, p, g) }

// Log, Expect and Learn are those of a correction.
func (c *correction) Log(f [5]float64) float64 { return c.log((*vector)(&f)) }
func (c *correction) Expect(f [5]float64, chance float64) float64 {
	return c.expect((*vector)(&f), chance)
}
func (c *correction) Learn(f [5]float64, expected float64, changed bool) {
	c.learn((*vector)(&f), expected, changed)
}

// Weights returns the weights, and how uncertain each is, as variances.
func (c *correction) Weights() (weights, doubts [5]float64) {
	for i := range c.doubt {
		doubts[i] = c.doubt[i][i]
	}
	return c.weight, doubts
}

// RateOf returns the rate of a source, in changes a tick, as nothing but its
// own polls and its prior tell it.
func (l *Learner) RateOf(slot freshet.Slot) float64 { return l.know(slot) }

// Add counts a poll.
func (r *Reliability) Add(chance float64, found bool) { r.add(chance, found) }

// Said returns how many indexes are kept for a page, and of how many pages that are no
// sources it is kept what they say.
func (l *Learner) Said(slot freshet.Slot) (voices, unmatchedHints int) {
	return len(l.hints.hints[slot]), len(l.hints.unmatched)
}

// DoSlices has a Learner do so many background work with an outcome; 0 means all.
func (l *Learner) DoSlices(catchUp, sweep, priors int) {
	if l.slice = wholePass; catchUp > 0 {
		l.slice.sites, l.slice.pages = catchUp, catchUp
	}
	if sweep > 0 {
		l.slice.sweep = sweep
	}
	if priors > 0 {
		l.slice.priors = priors
	}
}

// GrowAs makes as many slots as another Learner has.
func (l *Learner) GrowAs(other *Learner) { l.growTo(other.pages.Len()) }

// Directories returns the directories in the path of a URL.
func Directories(url string) (all []string) {
	directories(url, func(depth int, directory string) {
		if depth != len(all) {
			panic("depths do not follow each other")
		}
		all = append(all, directory)
	})
	return all
}

// Slots returns how many slots there are.
func (l *Learner) Slots() int { return l.pages.Len() }
