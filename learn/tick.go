package learn

import "time"

// turnTicks is at most how many ticks a turn has, the time in which the budget
// is enough to poll every source once.
const turnTicks = 384

// TickFor returns the tick to learn by where a budget of so many polls an
// instant is spent on so many sources: the instant, doubled until a turn has no
// more ticks than a learner can use. The daemon, the demo and the lab all take
// their tick from here.
func TickFor(sources int, polls float64, instant time.Duration) time.Duration {
	if !(polls > 0) {
		return instant
	}
	times := 1
	for float64(sources)/polls > turnTicks*float64(times) {
		times *= 2
	}
	return time.Duration(times) * instant
}
