package synth

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Clockwork changes at the same marks of every turn of the clock, as a weather
// bulletin does that comes at five and thirty-five past.
type Clockwork struct {
	Turn  time.Duration   // zero means a minute; turns begin at multiples of it in UTC
	Marks []time.Duration // within the turn; none means never
	Late  time.Duration   // each change comes late by up to this much
}

// Follow implements [Schedule].
func (c Clockwork) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if len(c.Marks) == 0 {
		return noMore
	}
	turn := c.Turn
	if turn <= 0 {
		turn = time.Minute
	}
	marks := slices.Sorted(slices.Values(c.Marks))
	at, mark := start.Truncate(turn), 0
	return func() time.Time {
		for {
			if mark == len(marks) {
				at, mark = at.Add(turn), 0
			}
			now := at.Add(marks[mark])
			if c.Late > 0 {
				now = now.Add(time.Duration(chance.Int64N(int64(c.Late))).Round(time.Millisecond))
			}
			mark++
			if now.After(start) {
				return now
			}
		}
	}
}
