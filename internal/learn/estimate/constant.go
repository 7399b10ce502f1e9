package estimate

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/freshet"
)

// Constant takes every source for equally likely to change, at any time.
type Constant struct {
	Chance  float64       // of a change in one instant; zero means a hundredth
	Instant time.Duration // zero means a minute

	there []bool // by slot
	holes int    // slots without a source
}

// Put implements [freshet.Estimator].
func (c *Constant) Put(_ time.Time, slot freshet.Slot, _ freshet.Source, _ time.Time) {
	for int(slot) >= len(c.there) {
		c.there = append(c.there, false)
		c.holes++
	}
	if !c.there[slot] {
		c.there[slot] = true
		c.holes--
	}
}

// Remove implements [freshet.Estimator].
func (c *Constant) Remove(slot freshet.Slot) {
	if int(slot) < len(c.there) && c.there[slot] {
		c.there[slot] = false
		c.holes++
	}
}

// Observe implements [freshet.Estimator]. Constant learns nothing.
func (c *Constant) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// Expect implements [freshet.Estimator]: an instant brings at most one change.
func (c *Constant) Expect(_ freshet.Slot, from, to time.Time) float64 {
	return c.chance() * c.instants(from, to)
}

// Chances implements [freshet.Estimator].
func (c *Constant) Chances(dst []float64, from, to time.Time) {
	chance := 1 - math.Pow(1-c.chance(), c.instants(from, to))
	there := c.there[:min(len(dst), len(c.there))]
	clear(dst[len(there):])
	dst = dst[:len(there)]
	if c.holes == 0 {
		for i := range dst {
			dst[i] = chance
		}
		return
	}
	for i, is := range there {
		dst[i] = 0
		if is {
			dst[i] = chance
		}
	}
}

func (c *Constant) chance() float64 { return cmp.Or(c.Chance, 0.01) }

func (c *Constant) instants(from, to time.Time) float64 {
	return max(0, float64(to.Sub(from))/float64(cmp.Or(c.Instant, time.Minute)))
}
