package synth

import (
	"math/rand/v2"
	"time"
)

// Poisson changes without memory: how long ago the last change was says
// nothing about the next.
type Poisson struct {
	Mean time.Duration // between changes; not positive means never
}

// Follow implements [Schedule].
func (p Poisson) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if p.Mean <= 0 {
		return noMore
	}
	at := start
	return func() time.Time {
		at = at.Add(gap(p.Mean, chance))
		return at
	}
}

// gap draws an exponentially distributed time in whole milliseconds, so that
// moments survive being written down and read again.
func gap(mean time.Duration, chance *rand.Rand) time.Duration {
	d := time.Duration(chance.ExpFloat64() * float64(mean))
	return max(d.Round(time.Millisecond), time.Millisecond)
}
