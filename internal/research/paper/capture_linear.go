package paper

import (
	"fmt"
	"math"
	"slices"

	"freshet/internal/sched/cyclic"
)

// A captureSweep is the algorithm of section 3.1.2 as printed: it goes once over the
// points at which one could poll, and counts what it does.
type captureSweep struct {
	ends     []int     // of intervals in which an update can occur, as points
	multiple []float64 // C of the intervals in which more than one can
	shares   []int     // of the polls, in those
	steps    int       // densities looked at, and polls given
}

// captureSwept sweeps over so many points of the period, and shares polls out by
// condition I.
func captureSwept(m cyclic.Model, points, polls int) captureSweep {
	var w captureSweep
	const none = -1
	last, pairs := none, 0.0 // which messages can come at the point before, and their C so far
	end := func(point int) {
		if last > 0 {
			w.ends = append(w.ends, point)
			if last&(last-1) != 0 { // more than one message
				w.multiple = append(w.multiple, pairs)
			}
		}
	}
	for p := range points {
		at := (float64(p) + .5) / float64(points) * m.Period
		now, sum, squares := 0, 0.0, 0.0
		for i, x := range m.Messages {
			w.steps++
			if at > x.From && at < x.To {
				density := x.Chance / (x.To - x.From) * m.Period / float64(points)
				now |= 1 << i
				sum, squares = sum+density, squares+density*density
			}
		}
		if now != last {
			end(p)
			last, pairs = now, 0
		}
		// Over an interval of n points, C t² is n² times the product of the densities in one.
		pairs = math.Pow(math.Sqrt(pairs)+math.Sqrt((sum*sum-squares)/2), 2)
	}
	end(points)
	w.shares = cyclic.Apportion(w.multiple, polls)
	w.steps += polls
	return w
}

// captureLinear claims that the algorithm takes time in proportion to the points.
func captureLinear() Claim {
	m := cyclic.Model{Period: captureHour, Messages: []cyclic.Message{{From: 5, To: 20, Chance: 1}, {From: 10, To: 35, Chance: 1}, {From: 30, To: 40, Chance: 1}}}
	const few, polls = captureHour, 7
	base := captureSwept(m, few, polls)
	said, worst, alike := "", 0.0, true
	for _, times := range []int{2, 8, 64} {
		w := captureSwept(m, few*times, polls)
		ratio := float64(w.steps) / float64(base.steps)
		worst = max(worst, math.Abs(ratio/float64(times)-1))
		ends := make([]int, len(w.ends))
		for i, p := range w.ends {
			ends[i] = p / times
		}
		alike = alike && slices.Equal(ends, base.ends) && slices.Equal(w.shares, base.shares)
		said += fmt.Sprintf("%.2f times the steps for %d times the points; ", ratio, times)
	}
	return Claim{Paper: Capture, Where: "section 3.1.2", Claim: "the algorithm is linear in the number of possible polling points", Expected: "as many times the steps as points",
		Measured: said + fmt.Sprintf("the intervals end at %s and the shares are %v with each: %v", captureTimes(captureFloats(base.ends)), base.shares, alike),
		Holds:    worst < .1 && alike}
}
