package lab

import (
	"math/rand/v2"
	"time"

	"freshet/internal/freshet/evidence"
)

// A truth says which version each page shows, to a world whose time only moves
// forward. On a grid a page changes at most once an instant; in continuous time
// it changes whenever the history says.
type truth struct {
	grid     *Grid
	times    *History // the changes in continuous time; nil on a grid
	happened []int32  // by page: changes so far
}

// begin sets the truth to the start of the grid.
func (t *truth) begin() { t.happened = make([]int32, len(t.grid.pages)) }

// version returns which version a page shows, counted from 1, at the end of an
// instant or in continuous time at now.
func (t *truth) version(page, instant int, now time.Time) int32 {
	n := int(t.happened[page])
	if t.times == nil {
		at := t.grid.Of(page)
		for n < len(at) && int(at[n]) <= instant {
			n++
		}
	} else {
		times, until := t.times.of(page), now.UnixNano()
		for n < len(times) && times[n] <= until {
			n++
		}
	}
	t.happened[page] = int32(n)
	return 1 + int32(n)
}

// date returns when a page last changed, as the page itself would say; zero if
// that is not known.
func (t *truth) date(page int) time.Time {
	n := int(t.happened[page])
	switch {
	case t.times == nil:
		return t.grid.dateOf(page, n)
	case n == 0:
		return time.Time{}
	}
	return time.Unix(0, t.times.of(page)[n-1]).UTC()
}

// dates returns when a page changed last, at most n times, the newest first.
func (t *truth) dates(page, n int) (dates []time.Time) {
	happened := int(t.happened[page])
	if t.times == nil {
		return t.grid.datesOf(page, happened, n)
	}
	times := t.times.of(page)
	for ; happened > 0 && len(dates) < n; happened-- {
		dates = append(dates, time.Unix(0, times[happened-1]).UTC())
	}
	return dates
}

// announced returns when a page says that it changes next, if that is true so many times in
// a hundred. A page that does not change any more says nothing where it would tell the
// truth.
func (t *truth) announced(page, percent int) *evidence.Announcement {
	n := int(t.happened[page])
	draw := rand.New(rand.NewPCG(uint64(page), uint64(n)))
	next := evidence.Next{By: evidence.NextByText}
	if lies := draw.IntN(100) >= percent; lies {
		gap := float64(t.grid.Instant) * float64(t.grid.Instants) / float64(len(t.grid.Of(page))+1)
		next.At = t.date(page).Add(time.Duration(2 * gap * draw.Float64()))
	} else if t.times == nil {
		if n == len(t.grid.Of(page)) {
			return nil
		}
		next.At = t.grid.dateOf(page, n+1)
	} else {
		if n == len(t.times.of(page)) {
			return nil
		}
		next.At = time.Unix(0, t.times.of(page)[n]).UTC()
	}
	return &evidence.Announcement{Next: []evidence.Next{next}}
}

// retell yields every change of a page between the start of the grid and its end, in
// order, with the date that the page then shows, in nanoseconds since 1970. It returns
// the date at the start.
func (t *truth) retell(page int, end time.Time, tell func(at int64)) (before int64) {
	before = undated
	if t.times == nil {
		if t.grid.before != nil {
			before = t.grid.before[page]
		}
		for n := range t.grid.Of(page) {
			tell(t.grid.dateOf(page, n+1).UnixNano())
		}
		return before
	}
	start, until := t.grid.Start.UnixNano(), end.UnixNano()
	for _, at := range t.times.of(page) {
		switch {
		case at <= start:
			before = at
		case at <= until:
			tell(at)
		}
	}
	return before
}

// raw returns the changes of the grid's pages as they were before they were cut
// into instants. Where that is not known, each happens at the end of its
// instant.
func (g *Grid) raw() *History {
	if g.history != nil {
		return g.history
	}
	h := &History{pages: g.pages, first: g.first, times: make([]int64, len(g.at))}
	for c, j := range g.at {
		h.times[c] = g.Time(int(j)).UnixNano()
	}
	return h
}

// instants returns how many instants lie between the start of the grid and t.
func (g *Grid) instants(t time.Time) float64 {
	return float64(t.Sub(g.Start)) / float64(g.Instant)
}

// moments returns when each change of the grid really happened, in instants
// since the start: of several changes in one instant, the first.
func (g *Grid) moments(h *History) []float64 {
	moments := make([]float64, len(g.at))
	start, length := g.Start.UnixNano(), int64(g.Instant)
	for page := range g.pages {
		c, end := g.first[page], g.first[page+1]
		for _, at := range h.of(page) {
			if c < end && at >= start+int64(g.at[c]-1)*length {
				moments[c] = float64(at-start) / float64(length)
				c++
			}
		}
	}
	return moments
}
