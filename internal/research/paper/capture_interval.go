package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// captureTogether returns the mean number of misses when messages that all come
// within an interval, at any time in it, are polled for k times at equal
// distances, over so many draws.
func captureTogether(r *rand.Rand, messages, k, draws int) float64 {
	misses := 0
	seen := make([]int, k) // by poll
	for range draws {
		clear(seen)
		for range messages {
			seen[r.IntN(k)]++
		}
		for _, n := range seen {
			misses += max(0, n-1)
		}
	}
	return float64(misses) / float64(draws)
}

// captureWithin returns the same as the model expects it.
func captureWithin(messages, k int) float64 {
	const length = 10
	m := cyclic.Model{Period: captureHour}
	for range messages {
		m.Messages = append(m.Messages, cyclic.Message{To: length, Chance: 1})
	}
	polls := make([]float64, k)
	for j := range polls {
		polls[j] = length * float64(j+1) / float64(k)
	}
	return m.Misses(polls)
}

// captureFigure4 is what polls within a multiple-update interval are worth, and
// how they are best shared out.
func captureFigure4(_ context.Context, s Options) (Figure, error) {
	draws := 200_000
	if s.Quick {
		draws = 20_000
	}
	r := rand.New(rand.NewPCG(s.Seed, 4))
	lines := []plot.Line{{Name: "two updates: Ct²/K"}, {Name: "two, drawn", Dashed: true}, {Name: "three: C/K over pairs"}, {Name: "three, drawn", Dashed: true}}
	table := Table{Head: []string{"polls K", "two updates: Ct²/K", "model", "drawn", "three updates: C/K, C over all pairs", "model", "drawn"}}
	const pairs, from = 3, 3 // three updates make so many pairs; the form is held to from so many polls on
	drawnOff, modelOff, formOff, first, last := 0.0, 0.0, 0.0, 0.0, 0.0
	for k := 1; k <= 12; k++ {
		two, three := 1/float64(k), pairs/float64(k)
		twoModel, threeModel := captureWithin(2, k), captureWithin(3, k)
		twoDrawn, threeDrawn := captureTogether(r, 2, k, draws), captureTogether(r, 3, k, draws)
		drawnOff = max(drawnOff, math.Abs(twoDrawn-two), math.Abs(threeDrawn-threeModel))
		modelOff = max(modelOff, math.Abs(twoModel-two))
		if last = math.Abs(threeModel/three - 1); k >= from {
			formOff = max(formOff, math.Abs(threeDrawn/three-1))
		}
		if k == 1 {
			first = last
		}
		for i, y := range []float64{two, twoDrawn, three, threeDrawn} {
			lines[i].Points = append(lines[i].Points, [2]float64{float64(k), y})
		}
		row := []string{fmt.Sprint(k)}
		for _, y := range []float64{two, twoModel, twoDrawn, three, threeModel, threeDrawn} {
			row = append(row, fmt.Sprintf("%.3f", y))
		}
		table.Rows = append(table.Rows, row)
	}
	chart := plot.Chart{Title: "Figure 4: polls within a multiple-update interval", X: captureCounts("polls K in the interval", 1, 12),
		Y: plot.Linear("expected misses in the interval", 0, 2.1), Lines: lines}
	return Figure{
		Title: "Figure 4: polling in a multiple-update interval",
		About: fmt.Sprintf("All updates come in the interval, each at any time in it, drawn %d times for each number of polls (seed %d). Condition I is held against every way of sharing up to twelve polls over up to four intervals.", draws, s.Seed),
		SVGs:  []string{chart.SVG()}, Tables: []Table{table},
		Claims: []Claim{
			{Paper: Capture, Where: "figure 4", Claim: "with K polls, two updates are missed with probability Ct²/K", Expected: "Ct²/K",
				Measured: fmt.Sprintf("K from 1 to 12: the model at most %.4f from it, draws at most %.4f", modelOff, drawnOff),
				Holds:    modelOff < 1e-9 && drawnOff < 4/math.Sqrt(float64(draws))},
			{Paper: Capture, Where: "figure 4", Claim: "the form is the same where more than two updates can occur", Expected: fmt.Sprintf("C/K, with C the sum over all pairs of updates (taken as within 15%% from %d polls on)", from),
				Measured: fmt.Sprintf("three updates: %.0f%% off with one poll, at most %.0f%% from %d polls on, %.0f%% with 12", 100*first, 100*formOff, from, 100*last), Holds: formOff < 0.15,
				Why: "three certain updates have 3/K - 1/K² expected misses: where all three meet, two are missed, and the sum over pairs counts three. Freshet computes with the exact value."},
			captureLinear(),
			captureConditionI(r),
		},
	}, nil
}

// captureConditionI holds the shares of condition I against all there are.
func captureConditionI(r *rand.Rand) Claim {
	instances, same, below := 0, 0, 0
	for range 100 {
		misses := make([]float64, 2+r.IntN(3))
		for i := range misses {
			misses[i] = float64(1 + r.IntN(100))
		}
		polls := len(misses) + r.IntN(13-len(misses))
		left := func(shares []float64) (sum float64) {
			for i, k := range shares {
				sum += misses[i] / k
			}
			return sum
		}
		least := captureLeast(misses, polls)
		instances++
		if left(captureFloats(cyclic.Apportion(misses, polls))) <= least*(1+1e-9) {
			same++
		}
		if left(cyclic.ConditionI(misses, float64(polls))) <= least*(1+1e-9) {
			below++
		}
	}
	return Claim{Paper: Capture, Where: "section 3.1.2", Claim: "the misses are fewest where C/K² is the same in all intervals (condition I)", Expected: "no other shares leave less",
		Measured: fmt.Sprintf("in %d of %d random instances; rounded to whole polls by apportionment, in %d of %d", below, instances, same, instances),
		Holds:    below == instances && same == instances,
		Why:      "the paper does not say how to round; giving each poll to where it saves most is exact."}
}

// captureLeast returns the least sum of misses over shares, of all ways of
// sharing so many polls out, at least one each.
func captureLeast(misses []float64, polls int) float64 {
	if len(misses) == 1 {
		return misses[0] / float64(polls)
	}
	least := math.Inf(1)
	for k := 1; k <= polls-len(misses)+1; k++ {
		least = min(least, misses[0]/float64(k)+captureLeast(misses[1:], polls-k))
	}
	return least
}
