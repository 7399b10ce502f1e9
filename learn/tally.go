package learn

import (
	"math"

	"freshet"
)

// A count is the tally of one source while it is kept. What is new weighs more
// than what is old by a factor that grows with time, so that what is old need
// not be touched to fade.
type count struct {
	life                                                               freshet.Life
	polls, captured, happened, variance, delay, watched, stale, oldAge float32
}

// A tallyScale says how much a count weighs at a moment.
type tallyScale struct {
	half float64 // ticks in which the weight doubles
	from float64 // the moment at which it was 1
}

// at returns the weight at x.
func (s *tallyScale) at(x float64) float64 { return math.Exp2((x - s.from) / s.half) }

// doublings is how often the weight doubles before everything is weighed anew:
// a square of seconds has to fit in a count beside it.
const doublings = 32

// fade makes what is counted smaller, once the weight of what is new has grown
// so much that it would not fit in a count before long.
func (l *Learner) fade() {
	n := math.Floor((float64(l.open) - l.scale.from) / l.scale.half / doublings)
	if n < 1 {
		return
	}
	l.scale.from += n * doublings * l.scale.half
	by := float32(math.Exp2(-n * doublings))
	for i := range l.counts {
		for _, x := range l.counts[i].all() {
			*x *= by
		}
	}
}

// all returns everything that is counted.
func (c *count) all() [8]*float32 {
	return [...]*float32{&c.polls, &c.captured, &c.happened, &c.variance, &c.delay, &c.watched, &c.stale, &c.oldAge}
}

// add counts a poll. Last is when the source had been seen before, and seconds
// how long a tick is; so many changes were expected, give or take a relative
// error.
func (c *count) add(weight, last, seconds, expected, doubt float64, see *sighting) {
	length := (see.at - last) * seconds
	c.polls += float32(weight)
	c.watched += float32(weight * length)
	if !see.changed {
		return
	}
	y := max(expected, 1e-6)
	some := -math.Expm1(-y)
	n := y / some
	spread := (y+y*y)/some - n*n
	slope := (some - y*math.Exp(-y)) / (some * some) // of n by y: how a wrong rate shows
	alone := 1/y - math.Exp(-y)/some                 // of the time: before the first change, and after the last
	delay := alone * length
	if see.dated {
		before := y * see.hidden()
		n, spread, slope = 1+before, before, before/y
		delay = max(0, see.at-float64(see.tick)-0.5) * seconds
	}
	c.happened += float32(weight * n)
	c.variance += float32(weight * (spread + slope*slope*y*y*doubt*doubt))
	switch c.life.Kind {
	case freshet.LifeAppend:
		c.captured += float32(weight * n)
		c.delay += float32(weight * (delay + (n-1)*(length+delay)/2))
	case freshet.LifeLast:
		caught := min(n, float64(c.life.N))
		c.captured += float32(weight * caught)
		c.delay += float32(weight * (delay + (caught-1)*min(length, delay*(caught+2))/2))
	default:
		c.captured += float32(weight)
		c.delay += float32(weight * delay)
	}
	c.stale += float32(weight * (1 - alone) * length)
	c.oldAge += float32(weight * length * length * (0.5 - 1/y + some/(y*y)) / some)
}

// doubt returns the relative error of what is expected of a source.
func (l *Learner) doubt(m *mind, p *page) float64 {
	q := m.of[long].weigh(l.priorOf(p.site))
	return q.doubt(&l.grid)
}

// doubt returns the standard deviation of a rate, as a share of its mean.
func (q *spread) doubt(g *grid) float64 {
	mean, square := q.mean(g), 0.0
	for i, w := range q {
		square += w * g[i] * g[i]
	}
	return math.Sqrt(max(0, square/(mean*mean)-1))
}
