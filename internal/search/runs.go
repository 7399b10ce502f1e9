package search

import (
	"math"
	"slices"
)

// A Run is versions of a source that follow each other and all have something. It
// begins with a version and ends before another, each with the time when it was seen.
type Run struct {
	From, To     int64
	Since, Until int64
}

// Open is the To and the Until of a Run that goes on.
const Open = math.MaxInt64

// Runs returns in which versions a query is found, by the runs in which each of its
// words and phrases is, in the order of [Query.Phrases].
func (q Query) Runs(of [][]Run) []Run {
	found, _ := q.runs(of)
	return found
}

func (q Query) runs(of [][]Run) (found []Run, rest [][]Run) {
	if q.Op == Phrase {
		return union(of[0]), of[1:]
	}
	for i, part := range q.Parts {
		var runs []Run
		runs, of = part.runs(of)
		switch {
		case i == 0:
			found = runs
		case q.Op == And:
			found = intersect(found, runs)
		case q.Op == Or:
			found = union(append(found, runs...))
		default:
			found = without(found, runs)
		}
	}
	return found, of
}

// union joins runs that overlap or touch.
func union(runs []Run) (joined []Run) {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b Run) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	for _, r := range runs {
		n := len(joined)
		if n == 0 || r.From > joined[n-1].To {
			joined = append(joined, r)
			continue
		}
		if last := &joined[n-1]; r.To > last.To {
			last.To, last.Until = r.To, r.Until
		}
	}
	return joined
}

// intersect returns what is in both of two lists of runs.
func intersect(a, b []Run) (both []Run) {
	for len(a) > 0 && len(b) > 0 {
		r := a[0]
		if b[0].From > r.From {
			r.From, r.Since = b[0].From, b[0].Since
		}
		if b[0].To < r.To {
			r.To, r.Until = b[0].To, b[0].Until
		}
		if r.From < r.To {
			both = append(both, r)
		}
		if a[0].To < b[0].To {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

// without returns what is in the first of two lists of runs and not in the second.
func without(a, b []Run) (left []Run) {
	for _, r := range a {
		for _, hole := range b {
			if hole.To <= r.From || hole.From >= r.To {
				continue
			}
			if hole.From > r.From {
				left = append(left, Run{r.From, hole.From, r.Since, hole.Since})
			}
			r.From, r.Since = min(hole.To, r.To), hole.Until
		}
		if r.From < r.To {
			left = append(left, r)
		}
	}
	return left
}
