package learn

import (
	"math"
)

// points is how many rates the grid has.
const points = 24

// The rates lie evenly on a logarithmic scale. The slowest is a change in so many
// ticks, or in so long a time if that is more.
const (
	slowTicks   = 1e5
	slowSeconds = 60 * 24 * 60 * 60
	fastest     = 3 // a tick
)

// A grid is a set of rates, in changes a tick.
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

// combine makes of two spreads, each of which says more than a third and knows nothing of the other,
// what both say.
func (q *spread) combine(a, b, both *spread) {
	for i := range q {
		q[i] = a[i] * b[i] / both[i]
	}
	q.scale()
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
// that takes the rate to be drawn again from time to time, which is what a source
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

// relax lets the rate be drawn again, with the chance 1-keep. Q is what is
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

// recall works the mean rates out again, under a prior.
func (m *mind) recall(g *grid, prior *spread) {
	for k := range m.of {
		q := m.of[k].weigh(prior)
		m.rate[k] = float32(q.mean(g))
	}
}

// A pool is sources of which one is taken to be like the others: those of a
// site, those with the same tags, all of them.
type pool struct {
	pages int
	prior spread // what is thought of the rate of one of which nothing is known
	sum   spread // of what is thought of each, as far as the sweep has come
}

// newPrior returns what is thought before any poll, when a source is expected
// to change once in so many ticks.
func newPrior(g *grid, every float64) (p spread) {
	for i := range p {
		x := g[i] * every
		p[i] = x*math.Exp(-x) + 0.002
	}
	p.scale()
	return p
}

const (
	poolGrip = 3 // sources that the parent of a pool counts for
	sweeps   = 12
)

// learn makes the sum of what is thought of each source the prior of the next
// one. What the parent thinks counts for a few sources.
func (p *pool) learn(parent *spread) {
	p.prior = p.sum.blurred()
	for i := range p.prior {
		p.prior[i] += poolGrip * parent[i]
	}
	p.prior.scale()
	p.sum = spread{}
}

// learnAlone does so for the pool of all sources.
func (p *pool) learnAlone() {
	p.prior = p.sum.blurred()
	for i := range p.prior {
		p.prior[i] += 0.05 + 0.001*float64(p.pages)/points
	}
	p.prior.scale()
	p.sum = spread{}
}

// blurred returns the spread smoothed with its neighbours.
func (q *spread) blurred() (b spread) {
	for i, w := range q {
		b[i] += w / 2
		b[max(i-1, 0)] += w / 4
		b[min(i+1, points-1)] += w / 4
	}
	return b
}

// expSteps is into how many steps a doubling is divided by the table below.
const expSteps = 32

// expTable holds 2^(i/expSteps).
var expTable = func() (t [expSteps]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / expSteps)
	}
	return t
}()

// exp returns e^x for x up to 0, to nine digits. What is thought of a source is
// worked out from two dozen of these, millions of times, and math.Exp took most
// of that.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	n := int64(math.Floor(x * (expSteps / math.Ln2)))
	r := x - float64(n)*(math.Ln2/expSteps)
	p := 1 + r*(1+r*(0.5+r*(1.0/6+r*(1.0/24))))
	return p * expTable[n&(expSteps-1)] * math.Float64frombits(uint64(n>>5+1023)<<52)
}
