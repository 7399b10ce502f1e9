package learn

import (
	"math"
	"time"
)

// A turn is the time in which the budget is enough to poll every source once.
// These are about how many ticks it has: as few as tell what came early in it
// from what came late, more where those would be longer than longestTick, and
// never more than a learner looks back.
const (
	fewestTicks = 16
	mostTicks   = 384
	longestTick = time.Hour // or hours of the day could not be told apart
)

// tickLengths are how many instants a tick can have: lengths that people count
// in, where an instant is a second.
var tickLengths = [...]int{1, 2, 5, 10, 30, 60, 2 * 60, 5 * 60, 10 * 60, 30 * 60, 60 * 60}

// TickFor returns the tick to learn by where a budget of so many polls an
// instant is spent on so many sources. The daemon, the demo and the lab all take
// their tick from here.
func TickFor(sources int, polls float64, instant time.Duration) time.Duration {
	if !(polls > 0) {
		return instant
	}
	turn, length := float64(sources)/polls, 1 // both in instants
	for _, n := range tickLengths {
		if float64(n)*fewestTicks <= turn && time.Duration(n)*instant <= longestTick {
			length = n
		}
	}
	for turn > mostTicks*float64(length) && time.Duration(length)*instant <= math.MaxInt64/2 { // which is 146 years
		length *= 2
	}
	return time.Duration(length) * instant
}
