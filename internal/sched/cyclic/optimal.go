package cyclic

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"freshet/internal/invalid"
)

// PlanOptimal returns offsets with the fewest misses in the history, and of
// those with the least delay over all captured changes. It is exact.
//
// Only offsets at which something changed need be considered: a poll elsewhere
// can be made at the last such offset before it, where it sees the same changes
// sooner, and a poll that sees nothing can be moved to any of them at no loss.
func PlanOptimal(h Timeline, period, polls int) ([]int, error) {
	if err := fits(period, polls); err != nil {
		return nil, err
	}
	w := newLinkWindow(h, period)
	if n := float64(w.changes); n*(n*float64(period)+1) > math.MaxInt64/4 {
		return nil, invalid.Errorf("history", "%d changes are too many to plan from at once", w.changes)
	}
	if polls >= len(w.stops) { // nothing is missed and nothing is late
		offsets := make([]int, len(w.stops))
		for i, s := range w.stops {
			offsets[i] = s.offset
		}
		return filled(period, polls, offsets), nil
	}
	if err := linkable(len(w.stops), polls); err != nil {
		return nil, err
	}
	busiest := slices.MaxFunc(w.stops, func(a, b stop) int { return cmp.Compare(a.changes, b.changes) })
	first, _ := slices.BinarySearchFunc(w.stops, busiest, func(a, b stop) int { return cmp.Compare(a.offset, b.offset) })
	places, _ := cheapest[int64](w, len(w.stops), polls, first)
	offsets := make([]int, polls)
	for i, p := range places {
		offsets[i] = w.stops[p%len(w.stops)].offset
	}
	slices.Sort(offsets)
	return offsets, nil
}

// A linkWindow counts what is lost between polls at two stops, and can be moved from
// one pair of stops to another in steps. A table of all pairs would not fit for
// a week in minutes. Stops are the offsets at which something changed; they
// count on around the cycle.
type linkWindow struct {
	period  int
	changes int
	miss    int64 // price of a missed change, more than all delays together
	stops   []stop
	fates   []fate // of the changes at each stop, those that end soonest first
	ends    []fate // of the changes that end at each stop, the youngest first

	a, b          int // the window is (a, b]
	missed, alive int64
	since         int64 // offsets of those alive, added up
}

// A stop is an offset at which something changed.
type stop struct {
	offset      int
	changes     int64
	fates, ends int // where its fates and ends stop; they begin where the last stop's do
}

// A fate is of changes that are replaced so many stops after their own, unless
// a poll comes between. Count and age add up over the fates before it too.
type fate struct {
	stops int
	count int64
	age   int64 // instants from the changes to the stop at which they are missed
}

func newLinkWindow(h Timeline, period int) *linkWindow {
	w := &linkWindow{period: period}
	byOffset := make([]int64, period)
	for offset := range h.changes(period) {
		byOffset[offset]++
		w.changes++
	}
	w.miss = int64(w.changes)*int64(period) + 1
	place := make([]int, period) // of the first stop at or after each offset
	for offset, n := range byOffset {
		place[offset] = len(w.stops)
		if n > 0 {
			w.stops = append(w.stops, stop{offset: offset, changes: n})
		}
	}
	size := len(w.stops)
	type end struct{ from, stops int }
	var doomed []end
	for offset, gap := range h.changes(period) {
		from, until := place[offset], offset+gap
		to := place[until%period] + until/period*size
		if to-from < size { // otherwise a poll always comes between
			doomed = append(doomed, end{from, to - from})
		}
	}
	slices.SortFunc(doomed, func(x, y end) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.stops, y.stops))
	})
	next := 0
	for p := range w.stops {
		begin := len(w.fates)
		for ; next < len(doomed) && doomed[next].from == p; next++ {
			w.fates = w.tell(w.fates, begin, doomed[next].stops, p)
		}
		w.stops[p].fates = len(w.fates)
	}
	slices.SortFunc(doomed, func(x, y end) int {
		return cmp.Or(cmp.Compare((x.from+x.stops)%size, (y.from+y.stops)%size), cmp.Compare(x.stops, y.stops))
	})
	next = 0
	for p := range w.stops {
		begin := len(w.ends)
		for ; next < len(doomed) && (doomed[next].from+doomed[next].stops)%size == p; next++ {
			w.ends = w.tell(w.ends, begin, doomed[next].stops, doomed[next].from)
		}
		w.stops[p].ends = len(w.ends)
	}
	return w
}

// tell adds a change at a stop that is replaced so many stops later to the
// fates from begin on.
func (w *linkWindow) tell(fates []fate, begin, stops, from int) []fate {
	age := w.offset(from+stops) - w.offset(from)
	if last := len(fates) - 1; last >= begin {
		if fates[last].stops == stops {
			fates[last].count++
			fates[last].age += age
			return fates
		}
		return append(fates, fate{stops, fates[last].count + 1, fates[last].age + age})
	}
	return append(fates, fate{stops, 1, age})
}

// offset returns where a stop lies, counted on around the cycle.
func (w *linkWindow) offset(i int) int64 {
	laps := i / len(w.stops)
	return int64(w.stops[i-laps*len(w.stops)].offset) + int64(laps)*int64(w.period)
}

// between implements linkCost.
func (w *linkWindow) between(a, b int) int64 {
	if apart(a, w.a)+apart(b, w.b) > b-a { // nearer to begin again
		w.a, w.b, w.missed, w.alive, w.since = b, b, 0, 0, 0
	}
	for w.a > a {
		w.reachBack()
	}
	for w.b < b {
		w.reachOn()
	}
	for w.a < a {
		w.letGo()
	}
	for w.b > b {
		w.drawIn()
	}
	return w.missed*w.miss + w.alive*w.offset(b) - w.since
}

func apart(x, y int) int { return max(x-y, y-x) }

// reachOn takes the stop after the window into it. What that stop ends is
// missed.
func (w *linkWindow) reachOn() {
	w.b++
	at := w.offset(w.b)
	s, ended := w.endedAt(w.b)
	w.missed += ended.count
	w.alive += s.changes - ended.count
	w.since += (s.changes-ended.count)*at + ended.age
}

// drawIn undoes reachOn.
func (w *linkWindow) drawIn() {
	at := w.offset(w.b)
	s, ended := w.endedAt(w.b)
	w.missed -= ended.count
	w.alive -= s.changes - ended.count
	w.since -= (s.changes-ended.count)*at + ended.age
	w.b--
}

// reachBack takes the stop at which the window begins into it.
func (w *linkWindow) reachBack() {
	s, ended := w.begunAt(w.a)
	w.missed += ended
	w.alive += s.changes - ended
	w.since += (s.changes - ended) * w.offset(w.a)
	w.a--
}

// letGo undoes reachBack.
func (w *linkWindow) letGo() {
	w.a++
	s, ended := w.begunAt(w.a)
	w.missed -= ended
	w.alive -= s.changes - ended
	w.since -= (s.changes - ended) * w.offset(w.a)
}

// begunAt returns a stop, and how many of its changes are missed by the end of
// the window.
func (w *linkWindow) begunAt(i int) (*stop, int64) {
	p := i % len(w.stops)
	s := &w.stops[p]
	begin := 0
	if p > 0 {
		begin = w.stops[p-1].fates
	}
	return s, upTo(w.fates[begin:s.fates], w.b-i).count
}

// endedAt returns a stop, and the changes in the window that it ends.
func (w *linkWindow) endedAt(i int) (*stop, fate) {
	p := i % len(w.stops)
	s := &w.stops[p]
	begin := 0
	if p > 0 {
		begin = w.stops[p-1].ends
	}
	return s, upTo(w.ends[begin:s.ends], i-w.a-1)
}

// upTo adds up the fates that take no more than so many stops.
func upTo(fates []fate, stops int) fate {
	if len(fates) == 0 || fates[0].stops > stops {
		return fate{}
	}
	if last := fates[len(fates)-1]; last.stops <= stops {
		return last
	}
	n := sort.Search(len(fates), func(i int) bool { return fates[i].stops > stops })
	return fates[n-1]
}
