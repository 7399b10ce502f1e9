package ranking

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// A Ranking finds the sources whose polls are worth most and offers them in
// order. It never sorts more than is asked for: it knows the best so many of
// one instant, and finds more by another pass only when those are used up.
type Ranking struct {
	ids    []freshet.SourceID // by slot; empty where there is no source
	factor []float64          // by slot: weight over price; negative while polled, 0 if not to be polled
	order  []int32            // by slot: place among the IDs; nil while that is the order of the slots
	mixed  bool               // order is out of date

	best  []candidate // found and not yet taken, the best first
	found int         // how many there have been
	last  candidate   // the last one found: all that come before it have been
	all   bool        // there are no more to find

	// While searching: a heap of the best so far, the worst of them on top.
	heap  []candidate
	want  int
	floor float64 // what has to be reached to get in
}

// A candidate is a source that is worth polling.
type candidate struct {
	worth float64
	slot  freshet.Slot
}

// Block is how many slots are scanned in one go: few enough to stay in the
// processor's nearest cache between being updated and being scanned.
const Block = 1024

// Put adds or updates a source, and reports whether it is a new one in its slot.
func (r *Ranking) Put(slot freshet.Slot, s freshet.Source) (isNew bool) {
	for int(slot) >= len(r.ids) {
		r.ids, r.factor = append(r.ids, ""), append(r.factor, 0)
	}
	if isNew = r.ids[slot] != s.ID; isNew {
		inOrder := r.order == nil && !r.mixed && int(slot) == len(r.ids)-1 && (slot == 0 || r.ids[slot-1] != "" && r.ids[slot-1] < s.ID)
		r.mixed = !inOrder
		r.ids[slot], r.factor[slot] = s.ID, 0
	}
	factor := s.Importance() / s.Price()
	if s.Apart() {
		factor = 0
	}
	if math.Signbit(r.factor[slot]) { // in flight, even if it is -0: paused meanwhile
		factor = -factor
	}
	if factor != r.factor[slot] {
		r.factor[slot] = factor
		r.Forget()
	}
	return isNew
}

// Remove forgets a source.
func (r *Ranking) Remove(slot freshet.Slot) {
	if int(slot) < len(r.ids) {
		r.ids[slot], r.factor[slot] = "", 0
	}
}

// Land ends the poll of a source.
func (r *Ranking) Land(slot freshet.Slot) { r.factor[slot] = math.Abs(r.factor[slot]) }

// Factor returns by what the worth of a source's polls is multiplied: its weight
// over its price, and 0 if it is not to be polled.
func (r *Ranking) Factor(slot freshet.Slot) float64 {
	if int(slot) >= len(r.factor) {
		return 0
	}
	return math.Abs(r.factor[slot])
}

// Forget drops what has been found: worths have changed.
func (r *Ranking) Forget() {
	r.best, r.found, r.all = r.best[:0], 0, false
	r.last = candidate{worth: math.Inf(1)}
}

// Begin starts the search for the best n of a new instant.
func (r *Ranking) Begin(n int) {
	r.Forget()
	if r.mixed {
		r.sort()
	}
	r.search(n)
}

// search prepares for the next n.
func (r *Ranking) search(n int) {
	r.want = max(n, minSearch)
	r.heap = r.heap[:0]
	r.floor = math.SmallestNonzeroFloat64
}

// minSearch is how many a search looks for at least.
const minSearch = 8

// Scan looks at the slots in [from, to).
func (r *Ranking) Scan(now []float64, from, to int) {
	for at := from; ; at++ {
		at += reaching(now[at:to], r.factor[at:to], r.floor)
		if at >= to {
			return
		}
		r.consider(candidate{now[at] * r.factor[at], freshet.Slot(at)})
	}
}

// reaching returns the first place whose worth reaches the floor, or how many
// there are if none does. Nearly none do, so this loop is where the time goes,
// and it holds nothing else.
func reaching(now, factor []float64, floor float64) int {
	factor = factor[:len(now)]
	for i, g := range now {
		if g*factor[i] >= floor {
			return i
		}
	}
	return len(now)
}

// consider takes in a candidate that reaches the floor.
func (r *Ranking) consider(c candidate) {
	switch {
	case c.worth >= r.last.worth && !r.before(r.last, c): // found before
	case len(r.heap) < r.want:
		r.heap = append(r.heap, c)
		r.up(len(r.heap) - 1)
	case r.before(c, r.heap[0]):
		r.heap[0] = c
		r.down(0)
	}
	if len(r.heap) == r.want {
		r.floor = r.heap[0].worth
		if r.order == nil { // slots are scanned in the order of their IDs: later ones lose ties
			r.floor = math.Nextafter(r.floor, math.Inf(1))
		}
	}
}

// End puts what was found behind the best.
func (r *Ranking) End() {
	slices.SortFunc(r.heap, func(a, b candidate) int {
		if r.before(a, b) {
			return -1
		}
		return 1
	})
	r.all = len(r.heap) < r.want
	if n := len(r.heap); n > 0 {
		r.last = r.heap[n-1]
	}
	r.best = append(r.best, r.heap...)
	r.found += len(r.heap)
}

// Offer offers the best until n have been taken or there are no more. Those
// refused stay, and are offered again when asked again.
func (r *Ranking) Offer(now []float64, n int, take func(freshet.Slot, float64) bool) {
	taken, kept, i := 0, 0, 0
	for ; taken < n; i++ {
		if i == len(r.best) {
			if r.all {
				break
			}
			r.more(now, n)
			if i == len(r.best) {
				break
			}
		}
		switch c := r.best[i]; {
		case now[c.slot]*r.factor[c.slot] != c.worth: // polled, edited or removed since
		case take(c.slot, c.worth):
			taken++
			r.factor[c.slot] = -r.factor[c.slot]
		default:
			r.best[kept] = c
			kept++
		}
	}
	r.best = r.best[:kept+copy(r.best[kept:], r.best[i:])]
}

// more searches for the next ones, each time for as many as were found before,
// so that many small choices, or a long line of refusals, cost few passes.
func (r *Ranking) more(now []float64, n int) {
	if r.mixed {
		r.sort()
	}
	r.search(max(n, r.found))
	r.Scan(now, 0, len(now))
	r.End()
}

// before reports whether a comes before b: more worth, or the smaller ID.
func (r *Ranking) before(a, b candidate) bool {
	if a.worth != b.worth {
		return a.worth > b.worth
	}
	if r.order == nil {
		return a.slot < b.slot
	}
	return r.order[a.slot] < r.order[b.slot]
}

// sort finds the order of the IDs.
func (r *Ranking) sort() {
	slots := make([]int32, len(r.ids))
	for i := range slots {
		slots[i] = int32(i)
	}
	slices.SortFunc(slots, func(a, b int32) int {
		return cmp.Or(strings.Compare(string(r.ids[a]), string(r.ids[b])), cmp.Compare(a, b))
	})
	r.mixed = false
	if slices.IsSorted(slots) {
		r.order = nil
		return
	}
	r.order = make([]int32, len(slots))
	for place, slot := range slots {
		r.order[slot] = int32(place)
	}
}

func (r *Ranking) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.before(r.heap[parent], r.heap[i]) {
			return
		}
		r.heap[parent], r.heap[i] = r.heap[i], r.heap[parent]
		i = parent
	}
}

func (r *Ranking) down(i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.heap); child++ {
			if r.before(r.heap[worst], r.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		r.heap[i], r.heap[worst] = r.heap[worst], r.heap[i]
		i = worst
	}
}
