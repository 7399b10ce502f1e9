package cyclic

import "container/heap"

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
