package synth

import (
	"math/rand/v2"
	"time"
)

// Burst is silent for long and then changes several times in quick succession,
// so that one change makes the next more likely.
type Burst struct {
	Quiet time.Duration // mean silence before a burst; not positive means never
	Count int           // changes in a burst; less than 1 means 1
	Gap   time.Duration // mean time between them
}

// Follow implements [Schedule].
func (b Burst) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if b.Quiet <= 0 {
		return noMore
	}
	at, left := start, 0
	return func() time.Time {
		if left == 0 {
			at, left = at.Add(gap(b.Quiet, chance)), max(b.Count, 1)
		} else {
			at = at.Add(gap(b.Gap, chance))
		}
		left--
		return at
	}
}
