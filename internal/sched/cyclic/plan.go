package cyclic

import (
	"container/heap"
	"fmt"
	"iter"
	"slices"
	"strings"

	"freshet/internal/invalid"
)

// A Timeline is when pages changed, as a cyclic strategy is planned from it.
// Time is counted in instants from 1, and instant j lies at offset (j-1) mod s
// of a period of s instants.
//
// Each page holds one version at a time, so that of the changes between two
// polls only the last is captured. Changes of a page in one instant count as
// one. With several pages each poll looks at all of them.
type Timeline struct {
	Pages [][]int // for each page the instants of its changes

	// Circle, if positive, bends the history into a circle of so many
	// instants, a whole number of periods: the last change of a page is then
	// followed by its first. On the line that history really is, nothing
	// follows the last change, and it is captured at the next poll.
	Circle int
}

// changes yields for each change its offset in the period and the instants
// until the next change of its page. Where more than a period passes, so that
// some poll always comes between, the gap is given as the period.
func (h Timeline) changes(period int) iter.Seq2[int, int] {
	return func(yield func(offset, gap int) bool) {
		for _, page := range h.Pages {
			if !slices.IsSorted(page) {
				page = slices.Sorted(slices.Values(page))
			}
			for i, at := range page {
				gap := period
				switch {
				case i+1 < len(page):
					gap = min(gap, page[i+1]-at)
				case h.Circle > 0:
					gap = min(gap, page[0]+h.Circle-at)
				}
				if gap > 0 && !yield(modulo(at-1, period), gap) {
					return
				}
			}
		}
	}
}

// modulo returns x mod m, from 0 to m-1 also for an x below 0.
func modulo(x, m int) int { return (x%m + m) % m }

// A Score is what a strategy makes of a history.
type Score struct {
	Changes int // that happened
	Misses  int // of those, replaced before a poll saw them
	Delay   int // instants between the captured changes and their polls, added up
}

// Captured returns how many changes were seen.
func (t Score) Captured() int { return t.Changes - t.Misses }

// Recall returns the share of the changes that was captured; 1 if there were none.
func (t Score) Recall() float64 {
	if t.Changes == 0 {
		return 1
	}
	return float64(t.Captured()) / float64(t.Changes)
}

// MeanDelay returns how many instants late the captured changes were seen.
func (t Score) MeanDelay() float64 {
	if t.Captured() == 0 {
		return 0
	}
	return float64(t.Delay) / float64(t.Captured())
}

// Count says what polls at these offsets of every period make of the history.
// A poll at offset b sees the changes up to the end of that instant. The
// strategy repeats before the history and after it.
func (h Timeline) Count(period int, offsets []int) Score {
	wait := make([]int, period) // from each offset to the next poll
	if len(offsets) == 0 {
		for i := range wait {
			wait[i] = period
		}
	} else {
		polled := make([]bool, period)
		for _, b := range offsets {
			polled[modulo(b, period)] = true
		}
		next := slices.Index(polled, true) + period
		for i := period - 1; i >= 0; i-- {
			if polled[i] {
				next = i
			}
			wait[i] = next - i
		}
	}
	var t Score
	for offset, gap := range h.changes(period) {
		t.Changes++
		if w := wait[offset]; w < gap {
			t.Delay += w
		} else {
			t.Misses++
		}
	}
	return t
}

// A Method is a way of planning a cyclic strategy.
type Method string

// The methods of planning.
const (
	Optimal   Method = "optimal"    // the fewest misses in the history, then the least delay
	Modeled   Method = "modeled"    // by a model of the messages that the history shows
	Even      Method = "uniform"    // at equal distances from the beginning of the period
	BestPhase Method = "best-phase" // at equal distances, shifted to where the history likes it best
)

// Methods lists the methods that Plan knows.
var Methods = []Method{Optimal, Modeled, Even, BestPhase}

// Plan returns the offsets, in order, of so many polls in a period of so many
// instants, planned from a history.
func Plan(h Timeline, period, polls int, m Method) ([]int, error) {
	switch m {
	case Optimal:
		return PlanOptimal(h, period, polls)
	case Modeled:
		return PlanModeled(h, period, polls)
	case Even:
		return PlanUniform(period, polls)
	case BestPhase:
		return PlanBestPhase(h, period, polls)
	}
	names := make([]string, len(Methods))
	for i, known := range Methods {
		names[i] = string(known)
	}
	return nil, &invalid.Error{
		Field:  "method",
		Reason: fmt.Sprintf("there is no method %q; there are %s", m, strings.Join(names, ", ")),
	}
}

// fits says whether so many polls can be made in a period.
func fits(period, polls int) error {
	switch {
	case period < 1:
		return invalid.Errorf("period", "%d instants are no period; it takes at least one", period)
	case period > 1<<24:
		return invalid.Errorf("period", "%d instants are too many to plan; take longer instants, at most %d to a period", period, 1<<24)
	case polls < 1:
		return invalid.Errorf("polls", "%d polls are no strategy; it takes at least one", polls)
	case polls > period:
		return invalid.Errorf("polls", "%d polls do not fit in a period of %d instants; there is room for one an instant", polls, period)
	}
	return nil
}

// PlanUniform returns offsets at equal distances, the first at 0.
func PlanUniform(period, polls int) ([]int, error) {
	if err := fits(period, polls); err != nil {
		return nil, err
	}
	return Spaced(period, polls, 0), nil
}

// Spaced returns offsets at equal distances, shifted.
func Spaced(period, polls, shift int) []int {
	offsets := make([]int, polls)
	for k := range offsets {
		offsets[k] = (k*period/polls + shift) % period
	}
	slices.Sort(offsets)
	return offsets
}

// PlanBestPhase returns offsets at equal distances, begun where the history has
// the fewest misses and then the least delay. What an optimal strategy captures
// beyond it is owed to the spacing of the polls and not to their phase.
func PlanBestPhase(h Timeline, period, polls int) ([]int, error) {
	if err := fits(period, polls); err != nil {
		return nil, err
	}
	var best []int
	var least Score
	for shift := range (period + polls - 1) / polls {
		offsets := Spaced(period, polls, shift)
		t := h.Count(period, offsets)
		if best == nil || t.Misses < least.Misses || t.Misses == least.Misses && t.Delay < least.Delay {
			best, least = offsets, t
		}
	}
	return best, nil
}

// filled adds offsets to those given until there are so many, each in the middle
// of what is then the widest gap: they gain nothing in the history, and guard
// best against a future that differs from it.
func filled(period, polls int, offsets []int) []int {
	slices.Sort(offsets)
	if len(offsets) == 0 {
		return Spaced(period, polls, 0)
	}
	gaps := newPollGaps(period, offsets)
	for len(offsets) < polls {
		offsets = append(offsets, gaps.split())
	}
	slices.Sort(offsets)
	return offsets
}

// Misses says how many changes of a history are missed by the best plans.
type Misses struct{ window *linkWindow }

// NewMisses returns the misses of plans for a history.
func NewMisses(h Timeline, period int) *Misses { return &Misses{newLinkWindow(h, period)} }

// Fewest returns how many changes of the history are missed at the least with so
// many polls a period, of which there has to be one.
func (m *Misses) Fewest(polls int) int {
	w := m.window
	if polls >= len(w.stops) {
		return 0
	}
	_, cost := cheapest[int64](w, len(w.stops), polls, 0)
	return int(cost / w.miss)
}

// pollGaps are the stretches between neighbouring polls of a cycle, the widest on
// top and of equals the earliest.
type pollGaps struct {
	period int
	spans  []span
}

type span struct{ from, length int }

func newPollGaps(period int, offsets []int) *pollGaps {
	g := &pollGaps{period: period}
	for i, from := range offsets {
		next := offsets[0] + period
		if i+1 < len(offsets) {
			next = offsets[i+1]
		}
		g.spans = append(g.spans, span{from, next - from})
	}
	heap.Init(g)
	return g
}

// split puts a poll in the middle of the widest gap and returns its offset.
func (g *pollGaps) split() int {
	s := g.spans[0]
	half := s.length / 2
	g.spans[0].length = half
	heap.Fix(g, 0)
	heap.Push(g, span{s.from + half, s.length - half})
	return (s.from + half) % g.period
}

// Len implements [heap.Interface].
func (g *pollGaps) Len() int { return len(g.spans) }

// Less implements [heap.Interface].
func (g *pollGaps) Less(i, j int) bool {
	a, b := g.spans[i], g.spans[j]
	return a.length > b.length || a.length == b.length && a.from < b.from
}

// Swap implements [heap.Interface].
func (g *pollGaps) Swap(i, j int) { g.spans[i], g.spans[j] = g.spans[j], g.spans[i] }

// Push implements [heap.Interface].
func (g *pollGaps) Push(x any) { g.spans = append(g.spans, x.(span)) }

// Pop implements [heap.Interface].
func (g *pollGaps) Pop() any {
	last := g.spans[len(g.spans)-1]
	g.spans = g.spans[:len(g.spans)-1]
	return last
}
