package learn

import "math"

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
