package learn

import "math"

// points is how many rates are told apart.
const points = 24

// The rates lie evenly on a logarithmic scale. The slowest is a change in so many
// ticks, or in so long a time if that is more.
const (
	slowTicks   = 1e5
	slowSeconds = 60 * 24 * 60 * 60
	fastest     = 3 // a tick
)

// A grid is the rates that are told apart, in changes a tick.
type grid [points]float64

func newGrid(c clock) (g grid) {
	slowest := 1 / max(slowTicks, slowSeconds/c.seconds())
	for i := range g {
		g[i] = slowest * math.Pow(fastest/slowest, float64(i)/(points-1))
	}
	return g
}

// A spread is a distribution over the rates of a grid.
type spread [points]float64

// mean returns the mean rate.
func (q *spread) mean(g *grid) (m float64) {
	for i, w := range q {
		m += w * g[i]
	}
	return m
}

// scale makes the weights add up to 1.
func (q *spread) scale() {
	sum := 0.0
	for _, w := range q {
		sum += w
	}
	for i := range q {
		q[i] /= sum
	}
}

// memories is how many memories a source has: a long one, a short one, and one
// that takes the rate to be drawn anew from time to time, which is what a source
// does that changes in bursts.
const (
	long = iota
	short
	switching
	memories
)

// What a poll leaves of the evidence before it, if it comes after the time in
// which all sources could have been polled once. Part of the forgetting goes
// with the polls and part with the time.
var keeps = [memories]float64{long: 0.995, short: 0.9}

const (
	byTime    = 0.3 // of the forgetting
	switches  = 1.5 // draws of the switching memory in that time
	pageGrip  = 0.95
	worldGrip = 0.999
	worldStep = 0.02
)

// A likelihood is the logarithm of how well each rate fits what was seen, the
// best at 0.
type likelihood [points]float32

// weigh turns a likelihood and a prior into what is thought of the rate.
func (l *likelihood) weigh(prior *spread) (q spread) {
	sum := 0.0
	for i, x := range l {
		w := prior[i]
		if x != 0 {
			w *= exp(float64(x))
		}
		q[i] = w
		sum += w
	}
	for i := range q {
		q[i] /= sum
	}
	return q
}

// level moves the best to 0.
func (l *likelihood) level() {
	top := l[0]
	for _, x := range l[1:] {
		top = max(top, x)
	}
	for i := range l {
		l[i] -= top
	}
}

// forget keeps a share of what is known.
func (l *likelihood) forget(keep float64) {
	for i := range l {
		l[i] = float32(keep * float64(l[i]))
	}
}

// relax lets the rate be drawn anew, with the chance 1-keep. Q is what is
// thought of it.
func (l *likelihood) relax(q, prior *spread, keep float64) {
	for i := range l {
		l[i] = float32(math.Log(keep*q[i]/prior[i] + 1 - keep))
	}
	l.level()
}

// admit takes in what one poll saw: the likelihood of each rate.
func (l *likelihood) admit(seen *spread) {
	for i := range l {
		l[i] += float32(seen[i])
	}
	l.level()
}

// A mind is all that is kept of a source's rate.
type mind struct {
	of   [memories]likelihood
	mix  [memories]float32 // logarithm of how well each has predicted of late
	rate [memories]float32 // mean, a tick
}

// weights says how far each memory is to be trusted, given how well each has
// predicted of late for all sources.
func (m *mind) weights(world *[memories]float64) (w [memories]float64) {
	top := math.Inf(-1)
	for k := range w {
		w[k] = world[k] + float64(m.mix[k])
		top = max(top, w[k])
	}
	sum := 0.0
	for k := range w {
		w[k] = math.Exp(w[k] - top)
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// mean returns the rate that is expected, a tick.
func (m *mind) mean(world *[memories]float64) (r float64) {
	for k, w := range m.weights(world) {
		r += w * float64(m.rate[k])
	}
	return r
}

// recall works the mean rates out anew, under a prior.
func (m *mind) recall(g *grid, prior *spread) {
	for k := range m.of {
		q := m.of[k].weigh(prior)
		m.rate[k] = float32(q.mean(g))
	}
}
