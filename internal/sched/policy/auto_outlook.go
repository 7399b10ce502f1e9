package policy

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
)

// Outlook returns what is thought of a source at now, and when it is expected to
// be polled.
func (a *Auto) Outlook(now time.Time, slot freshet.Slot) outlook.Outlook {
	out := a.learner.Outlook(now, slot)
	out.Price = a.prices.price
	if int(slot) >= len(a.worth) {
		return out
	}
	factor := a.rank.Factor(slot)
	if out.Since.IsZero() && a.failed[slot] == 0 {
		out.Worth, out.Due = factor*a.of(int(slot), math.Inf(1), 0), now
		return out
	}
	hint, heard := a.learner.Hint(now, slot)
	told := heard && hint.Pending > 0 && a.failed[slot] == 0
	announced, comes, leaks := a.learner.DueOf(slot)
	credit := a.learner.Credit(slot)
	if a.objectives.of[slot] != forCaptures {
		credit = 1
	}
	starves := longestWait * a.learner.FullPass()
	at, levelled := a.levels.find(slot)
	worthAt := func(d time.Duration) (worth float64, idle, starved bool) { // d from now, at the rate of now
		expected, gap := math.Inf(1), 0.0
		if !out.Since.IsZero() {
			passes := d // as far as anything is expected in it
			if wait := announced.Sub(now); comes > 0 && wait > 0 {
				passes -= time.Duration((1 - leaks) * float64(min(d, wait)))
			}
			expected = out.Expected + out.Now.Mean*passes.Seconds()
			gap = float64(now.Add(passes).Sub(out.Since)) / float64(a.learner.Tick())
			if heard {
				expected -= out.Expected - hint.Expected
				gap += hint.Ticks - float64(now.Sub(out.Since))/float64(a.learner.Tick())
			}
		}
		hint, told := hint, told
		if comes > 0 && !told && a.failed[slot] == 0 && !now.Add(d).Before(announced) { // by then it is to be expected
			hint.Pending, hint.Changes, hint.Age, told = comes, 1, 0, true
			hint.Rate = out.Now.Mean * a.learner.Tick().Seconds()
		}
		given, overrideWorth := a.learner.OverrideAt(now.Add(d), slot)
		if overrideWorth {
			expected = given.Expected
		}
		if idle = a.idle(int(slot), expected, gap); overrideWorth && given.Holds {
			idle = a.quiet(expected, gap)
		}
		if idle = idle && !told; !overrideWorth {
			expected *= credit
		}
		if a.failed[slot] != 0 {
			expected, gap = a.retry(now.Add(d), int(slot), expected, gap)
		}
		if gap <= 0 {
			return 0, idle, false
		}
		if levelled {
			worth = a.levels.floor(&a.levels.levels[at], out.Now.Mean, gap*a.learner.Tick().Seconds(), a.prices.price, a.passes.steps.Length)
		}
		if idle {
			return worth, true, false
		}
		steps := float64(a.learner.Tick()) / float64(a.step)
		plain := a.of(int(slot), expected, gap*steps)
		if overrideWorth && a.failed[slot] == 0 {
			plain = a.overrideWorth(int(slot), &given, expected, gap, steps)
		}
		if told {
			plain = a.pending(int(slot), &hint, plain, steps)
		}
		if a.objectives.of[slot] == forCaptures && a.failed[slot] == 0 {
			worth = max(worth, a.old.floor(factor*expectedAge(out.Now.Mean*a.learner.Tick().Seconds(), gap), a.prices.price))
		}
		if a.index[slot] {
			plain = plain*a.learner.Finds(slot) + a.read(slot)
		}
		return max(worth, factor*plain), false, gap > starves
	}
	out.Worth, out.Idle, _ = worthAt(0)
	if out.Price > 0 && factor > 0 {
		out.Due = dueAt(now, a.passes.steps.Length, func(d time.Duration) bool {
			worth, _, starved := worthAt(d)
			return worth >= out.Price || starved
		})
		if wait := announced.Sub(now); comes > 0 && wait > 0 && (out.Due.IsZero() || out.Due.After(announced)) {
			if worth, _, _ := worthAt(wait); worth >= out.Price {
				out.Due = announced
			}
		}
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
