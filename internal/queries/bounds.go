package queries

import (
	"cmp"
	"slices"
	"sort"
)

// bounds holds numbers that values are compared with, in order, so that those which a
// value is below or above stand together.
type bounds struct {
	sorted []bound
	fresh  []bound // added since the list was last put in order
}

type bound struct {
	at float64
	by *entry
}

// maxFresh is how many bounds are looked at one by one before they are put in order.
const maxFresh = 32

func (b *bounds) add(at float64, e *entry) { b.fresh = append(b.fresh, bound{at, e}) }

func (b *bounds) remove(at float64, e *entry) {
	if i := slices.Index(b.fresh, bound{at, e}); i >= 0 {
		b.fresh = slices.Delete(b.fresh, i, i+1)
		return
	}
	for i := b.first(at); i < len(b.sorted) && b.sorted[i].at == at; i++ {
		if b.sorted[i].by == e {
			b.sorted = slices.Delete(b.sorted, i, i+1)
			return
		}
	}
}

// first returns where the bounds begin that are at least a value.
func (b *bounds) first(at float64) int {
	return sort.Search(len(b.sorted), func(i int) bool { return b.sorted[i].at >= at })
}

// find calls each with whoever is right that the value is below its bound, and so on.
func (b *bounds) find(value float64, t test, each func(*entry)) {
	if len(b.fresh) > maxFresh {
		b.sorted = append(b.sorted, b.fresh...)
		slices.SortStableFunc(b.sorted, func(x, y bound) int { return cmp.Compare(x.at, y.at) })
		b.fresh = nil
	}
	for _, x := range b.fresh {
		if holds(value, t, x.at) {
			each(x.by)
		}
	}
	from, to := 0, len(b.sorted)
	switch t {
	case testLessEqual:
		from = b.first(value)
	case testGreater:
		to = b.first(value)
	case testLess:
		from = sort.Search(len(b.sorted), func(i int) bool { return b.sorted[i].at > value })
	case testGreaterEqual:
		to = sort.Search(len(b.sorted), func(i int) bool { return b.sorted[i].at > value })
	}
	for _, x := range b.sorted[from:to] {
		each(x.by)
	}
}

func holds(value float64, t test, bound float64) bool {
	switch t {
	case testLess:
		return value < bound
	case testLessEqual:
		return value <= bound
	case testGreater:
		return value > bound
	}
	return value >= bound
}
