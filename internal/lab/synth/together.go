package synth

import (
	"math/rand/v2"
	"time"
)

// Together changes when others do: all pages with the same Seed follow the same
// moments of a schedule, as the pages of a site do when it is published anew.
type Together struct {
	Schedule Schedule
	Seed     uint64
	Late     time.Duration // each page comes late by up to this much of its own
}

// Follow implements [Schedule].
func (t Together) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	next := t.Schedule.Follow(start, rand.New(rand.NewPCG(t.Seed, 0)))
	return func() time.Time {
		at := next()
		if at.IsZero() || t.Late <= 0 {
			return at
		}
		return at.Add(time.Duration(chance.Int64N(int64(t.Late))).Round(time.Millisecond))
	}
}
