package synth

import (
	"math/rand/v2"
	"time"
)

// Never does not change.
type Never struct{}

// Follow implements [Schedule].
func (Never) Follow(time.Time, *rand.Rand) func() time.Time { return noMore }

// Until follows another schedule for a while and then changes no more.
type Until struct {
	Schedule Schedule
	Stop     time.Duration // from the start
}

// Follow implements [Schedule].
func (u Until) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	next, end := u.Schedule.Follow(start, chance), start.Add(u.Stop)
	return func() time.Time {
		if t := next(); !t.After(end) {
			return t
		}
		return time.Time{}
	}
}
