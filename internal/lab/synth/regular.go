package synth

import (
	"math/rand/v2"
	"time"
)

// Regular changes at equal distances.
type Regular struct {
	Every  time.Duration // not positive means never
	Offset time.Duration // of the first change from the start; zero means Every
}

// Follow implements [Schedule].
func (r Regular) Follow(start time.Time, _ *rand.Rand) func() time.Time {
	if r.Every <= 0 {
		return noMore
	}
	at := start.Add(r.Offset)
	for !at.After(start) {
		at = at.Add(r.Every)
	}
	return func() time.Time {
		now := at
		at = at.Add(r.Every)
		return now
	}
}
