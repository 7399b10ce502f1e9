package lab

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A History is when each page of a set changed: the truth, before it is cut
// into instants.
type History struct {
	pages []freshet.SourceID // in byte order
	first []int              // where each page's times begin; one more than pages
	times []int64            // nanoseconds since 1970, ascending within a page

	outages [][]outage // by page, in order; nil if there are none
}

// NewHistory gathers changes, in whatever order they come. Pages that may not
// have changed can be named beside them.
func NewHistory(changes iter.Seq2[freshet.SourceID, time.Time], pages ...freshet.SourceID) *History {
	var g gatherer
	for _, id := range pages {
		g.number(string(id))
	}
	for id, at := range changes {
		g.add(string(id), at.UnixNano())
	}
	return g.history()
}

// Pages returns the pages, in byte order. It is not to be changed.
func (h *History) Pages() []freshet.SourceID { return h.pages }

// Changes returns how many changes there are of all pages.
func (h *History) Changes() int { return len(h.times) }

// All returns the changes by page, and by time within a page.
func (h *History) All() iter.Seq2[freshet.SourceID, time.Time] {
	return func(yield func(freshet.SourceID, time.Time) bool) {
		for i, id := range h.pages {
			for _, at := range h.of(i) {
				if !yield(id, time.Unix(0, at).UTC()) {
					return
				}
			}
		}
	}
}

// of returns the times of one page.
func (h *History) of(page int) []int64 { return h.times[h.first[page]:h.first[page+1]] }

// Span returns the first and the last change.
func (h *History) Span() (first, last time.Time, ok bool) {
	if len(h.times) == 0 {
		return first, last, false
	}
	return time.Unix(0, slices.Min(h.times)).UTC(), time.Unix(0, slices.Max(h.times)).UTC(), true
}

// Select returns the history of some pages alone.
func (h *History) Select(keep func(freshet.SourceID) bool) *History {
	sub := &History{first: []int{0}}
	for i, id := range h.pages {
		if keep(id) {
			sub.pages = append(sub.pages, id)
			sub.times = append(sub.times, h.of(i)...)
			sub.first = append(sub.first, len(sub.times))
			if h.outages != nil {
				sub.outages = append(sub.outages, h.outages[i])
			}
		}
	}
	return sub
}

// A gatherer collects changes that come in any order.
type gatherer struct {
	known map[string]int32
	pages []freshet.SourceID
	page  []int32 // of each change
	times []int64
	marks []failureMark
}

// add notes a change.
func (g *gatherer) add(id string, at int64) {
	g.page = append(g.page, g.number(id))
	g.times = append(g.times, at)
}

// mark notes how a page fails from then on.
func (g *gatherer) mark(id string, o outage) {
	g.marks = append(g.marks, failureMark{g.number(id), o})
}

// number returns the number of a page. It keeps no hold of the id's memory
// unless it is new.
func (g *gatherer) number(id string) int32 {
	n, ok := g.known[id]
	if !ok {
		if g.known == nil {
			g.known = map[string]int32{}
		}
		id = strings.Clone(id)
		n = int32(len(g.pages))
		g.known[id] = n
		g.pages = append(g.pages, freshet.SourceID(id))
	}
	return n
}

// history puts what was gathered in order.
func (g *gatherer) history() *History {
	order := make([]int32, len(g.pages)) // by ID
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(g.pages[a], g.pages[b]) })
	rank := make([]int32, len(order))
	h := &History{
		pages: make([]freshet.SourceID, len(order)),
		first: make([]int, len(order)+1),
		times: make([]int64, len(g.times)),
	}
	for r, i := range order {
		rank[i], h.pages[r] = int32(r), g.pages[i]
	}
	for _, p := range g.page {
		h.first[rank[p]+1]++
	}
	for i := range order {
		h.first[i+1] += h.first[i]
	}
	next := slices.Clone(h.first)
	for i, p := range g.page {
		r := rank[p]
		h.times[next[r]] = g.times[i]
		next[r]++
	}
	for i := range order {
		if t := h.of(i); !slices.IsSorted(t) {
			slices.Sort(t)
		}
	}
	h.outages = outagesOf(g.marks, rank)
	return h
}
