package cyclic

import (
	"freshet/internal/invalid"
)

// A linkCost prices the link between two neighbouring polls of a cycle: what is
// lost when polls sit at places a and b and nowhere between. Places count on
// around the cycle, and a < b <= a + its size.
//
// The price has to be Monge: for a <= b <= c <= d,
// between(a,c) + between(b,d) <= between(a,d) + between(b,c). It is whenever
// each loss in (a,b] only grows with b, because then pulling b back to where
// another link ends saves the more, the further the link reaches back.
type linkCost[C int64 | float64] interface {
	between(a, b int) C
}

// links finds the cheapest cycle of polls.
//
// With the price Monge, two cycles X and Y of equally many polls may be crossed:
// the cycles of min(x_k, y_k) and of max(x_k, y_k) together cost no more than X
// and Y, whichever poll of Y is numbered as the first. Two things follow.
//
// First, among the cheapest paths to each place the last link begins the later,
// the later it ends, so that a layer of the dynamic programme is filled by
// halving instead of by trying all pairs.
//
// Second, not all beginnings need a programme of their own. Let X be cheapest of
// the cycles through place x_0. Then one of the cheapest cycles Y of all keeps
// to x_k <= y_k <= x_{k+1} for all k. For take Y cheapest of all. Some poll of
// one such Y lies between x_0 and x_1: if none does, number so that y_0 < x_0
// and x_1 < y_1 and cross; the half that goes through the place where X had to
// begin costs no less than X, so the other half is cheapest of all too, and it
// holds x_0 or x_1. Number that poll y_0 and cross: the lower half holds x_0, so
// the upper one is cheapest of all, and now x_k <= y_k. Cross once more with
// y_k against x_{k+1}. If y_{-1} <= x_0, the upper half holds x_0, the lower
// half is cheapest of all, and keeps between the bounds. Else the upper half is
// cheapest of all, again at or above X, and with y_{-1} for y_0 begins lower
// than Y; begin again with it, which cannot go on for ever.
//
// By the same crossing the cheapest of those that begin at a later place keep
// at or above the cheapest that begins at an earlier one. So the beginnings
// from x_0 to x_1 are halved in turn, each within the paths of its neighbours,
// and all of them together cost hardly more than the first.
type links[C int64 | float64, L linkCost[C]] struct {
	cost  L
	size  int // places in the cycle
	polls int

	lo, hi    []int   // windows of the layers of the path in hand
	base      []int   // where each layer begins in from
	from      []int32 // for each place of each layer, where its last link begins
	sum, past []C     // of the layer in hand and of the one before

	best  []int
	least C
}

// linkable says whether the cheapest cycle can be found with bearable memory.
func linkable(size, polls int) error {
	if most := 1 << 28; (size-polls+1)*polls > most {
		return invalid.Errorf("polls", "%d polls at %d offsets are too many to plan; take longer instants", polls, size)
	}
	return nil
}

// cheapest returns the places of a cheapest cycle through all places, and its
// cost. There is at least one poll and no more than places. First is where to
// begin; any place will do.
func cheapest[C int64 | float64, L linkCost[C]](cost L, size, polls, first int) ([]int, C) {
	l := &links[C, L]{
		cost: cost, size: size, polls: polls,
		lo: make([]int, polls+1), hi: make([]int, polls+1), base: make([]int, polls+2),
		sum: make([]C, size+1), past: make([]C, size+1),
	}
	lo, hi := make([]int, polls+1), make([]int, polls+1)
	for k := range lo {
		lo[k], hi[k] = first+k, first+size-polls+k
	}
	x, sum := l.path(first, lo, hi)
	l.best, l.least = x, sum
	if polls < size {
		above := append(x[1:polls+1:polls+1], x[1]+size)
		l.begin(x[0]+1, x[1], x, above)
	}
	return l.best[:polls], l.least
}

// begin tries all beginnings from one place to another, on paths at or between
// two paths.
func (l *links[C, L]) begin(from, to int, below, above []int) {
	if from > to {
		return
	}
	mid := (from + to) / 2
	x, sum := l.path(mid, below, above)
	if sum < l.least {
		l.best, l.least = x, sum
	}
	l.begin(from, mid-1, below, x)
	l.begin(mid+1, to, x, above)
}

// path returns a cheapest path around the cycle from a place to itself, with
// its k-th stop no lower than lo[k] and no higher than hi[k].
func (l *links[C, L]) path(start int, lo, hi []int) ([]int, C) {
	n := l.polls
	copy(l.lo, lo)
	copy(l.hi, hi)
	l.lo[0], l.hi[0], l.lo[n], l.hi[n] = start, start, start+l.size, start+l.size
	for k := 1; k < n; k++ {
		l.lo[k] = max(l.lo[k], l.lo[k-1]+1)
	}
	for k := n - 1; k > 0; k-- {
		l.hi[k] = min(l.hi[k], l.hi[k+1]-1)
	}
	for k := range l.lo {
		l.base[k+1] = l.base[k] + l.hi[k] - l.lo[k] + 1
	}
	if need := l.base[n+1]; need > len(l.from) {
		l.from = make([]int32, need)
	}
	l.sum[0] = 0
	for k := 1; k <= n; k++ {
		l.sum, l.past = l.past, l.sum
		l.fill(k, l.lo[k], l.hi[k], l.lo[k-1], l.hi[k-1])
	}
	stops := make([]int, n+1)
	stops[n] = start + l.size
	for k := n; k > 0; k-- {
		stops[k-1] = int(l.from[l.base[k]+stops[k]-l.lo[k]])
	}
	return stops, l.sum[0]
}

// fill finds the cheapest paths of k links to the places from b to bEnd, whose
// last links begin between a and aEnd.
func (l *links[C, L]) fill(k, b, bEnd, a, aEnd int) {
	for b <= bEnd {
		mid := (b + bEnd) / 2
		shift := l.lo[k-1]
		best, least, found := 0, C(0), false
		for y := min(aEnd, mid-1); y >= a; y-- {
			if sum := l.past[y-shift] + l.cost.between(y, mid); !found || sum <= least {
				best, least, found = y, sum, true
			}
		}
		at := mid - l.lo[k]
		l.sum[at], l.from[l.base[k]+at] = least, int32(best)
		l.fill(k, b, mid-1, a, best)
		b, a = mid+1, best
	}
}
