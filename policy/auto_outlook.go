package policy

import (
	"math"
	"time"

	"freshet"
)

// Outlook returns what is thought of a source at now, and when it is expected to
// be polled.
func (a *Auto) Outlook(now time.Time, slot freshet.Slot) freshet.Outlook {
	out := a.learner.Outlook(now, slot)
	out.Price = a.margin.price
	if int(slot) >= len(a.kind) {
		return out
	}
	factor := a.rank.Factor(slot)
	if out.Since.IsZero() && a.failed[slot] == 0 {
		out.Worth, out.Due = factor*a.of(int(slot), math.Inf(1), 0), now
		return out
	}
	starves := longestWait * a.learner.Turn()
	worthAt := func(d time.Duration) (worth float64, starved bool) { // d from now, at the rate of now
		expected, gap := math.Inf(1), 0.0
		if !out.Since.IsZero() {
			expected = out.Expected + out.Rate.Mean*d.Seconds()
			gap = float64(now.Add(d).Sub(out.Since)) / float64(a.learner.Tick())
		}
		if a.idle(int(slot), expected, gap) {
			return 0, false
		}
		if a.failed[slot] != 0 {
			expected, gap = a.retry(now.Add(d), int(slot), expected, gap)
		}
		if gap <= 0 {
			return 0, false
		}
		return factor * a.of(int(slot), expected, gap*float64(a.learner.Tick())/float64(a.every)), gap > starves
	}
	out.Worth, _ = worthAt(0)
	if out.Price > 0 && factor > 0 {
		out.Due = dueAt(now, a.grid.Length, func(d time.Duration) bool {
			worth, starved := worthAt(d)
			return worth >= out.Price || starved
		})
	}
	return out
}

// dueAt returns the first moment from now on, to the tick, at which something is
// reached; zero if not within a year.
func dueAt(now time.Time, tick time.Duration, reached func(time.Duration) bool) time.Time {
	if reached(0) {
		return now
	}
	const year = 366 * 24 * time.Hour
	low, high := time.Duration(0), tick
	for !reached(high) {
		low, high = high, 2*high
		if high > year {
			return time.Time{}
		}
	}
	for high-low > tick {
		if mid := (low + high) / 2; reached(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return now.Add(high)
}
