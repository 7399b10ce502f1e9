package policy

import (
	"fmt"
	"math"
	"slices"

	"freshet"
)

// PlanDelay returns the offsets of a period at which polls of a source that
// loses nothing see its changes with the least delay, given how many changes are
// expected in each instant of the period (Sia, Cho and Cho). It is exact.
func PlanDelay(intensity []float64, polls int) ([]int, error) {
	if err := fits(len(intensity), polls); err != nil {
		return nil, err
	}
	for i, x := range intensity {
		if !(x >= 0) || math.IsInf(x, 1) {
			return nil, &freshet.InvalidError{Field: "history", Reason: fmt.Sprintf("%v changes cannot be expected in instant %d", x, i)}
		}
	}
	if err := linkable(len(intensity), polls); err != nil {
		return nil, err
	}
	w := newWaits(intensity)
	places, _ := cheapest[float64](w, w.size, polls, 0)
	offsets := make([]int, polls)
	for i, p := range places {
		offsets[i] = p % w.size
	}
	slices.Sort(offsets)
	return offsets, nil
}

// ExpectedDelay returns how long the changes of a period are expected to wait
// for the polls at these offsets, all waits added up, in instants.
func ExpectedDelay(intensity []float64, offsets []int) (sum float64) {
	if len(offsets) == 0 || len(intensity) == 0 {
		return math.Inf(1)
	}
	w := newWaits(intensity)
	for i, a := range offsets {
		b := offsets[(i+1)%len(offsets)]
		if b <= a {
			b += w.size
		}
		sum += w.between(a, b)
	}
	return sum
}

// waits prices the gap between two polls by how long the changes in it wait for
// the second.
type waits struct {
	size   int
	count  []float64 // changes expected before each instant, over two periods
	moment []float64 // the same times the instant
}

func newWaits(intensity []float64) *waits {
	n := len(intensity)
	w := &waits{size: n, count: make([]float64, 2*n+1), moment: make([]float64, 2*n+1)}
	for i := range 2 * n {
		x := intensity[i%n]
		w.count[i+1] = w.count[i] + x
		w.moment[i+1] = w.moment[i] + x*float64(i)
	}
	return w
}

// between implements linkCost: the changes of the instants after a and up to b.
func (w *waits) between(a, b int) float64 {
	a, b = a%w.size, b-a/w.size*w.size
	return float64(b)*(w.count[b+1]-w.count[a+1]) - (w.moment[b+1] - w.moment[a+1])
}
