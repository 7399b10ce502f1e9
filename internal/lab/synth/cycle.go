package synth

import (
	"math"
	"math/rand/v2"
	"time"
)

// Cycle is busy and idle by turns, as a newsroom is by day and by night. Its
// day begins at the start and is busiest after a quarter of it.
type Cycle struct {
	Mean  time.Duration // between changes, over a whole day; not positive means never
	Day   time.Duration // zero means a minute
	Depth float64       // from 0, no cycle at all, to 1, asleep at night
}

// Follow implements [Schedule].
func (c Cycle) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if c.Mean <= 0 {
		return noMore
	}
	day := c.Day
	if day <= 0 {
		day = time.Minute
	}
	depth := min(max(c.Depth, 0), 1)
	// Thinning: draw at the busiest rate, and keep what the hour allows.
	busiest := time.Duration(float64(c.Mean) / (1 + depth))
	at := start
	return func() time.Time {
		for {
			at = at.Add(gap(busiest, chance))
			hour := 2 * math.Pi * at.Sub(start).Seconds() / day.Seconds()
			if chance.Float64()*(1+depth) < 1+depth*math.Sin(hour) {
				return at
			}
		}
	}
}
