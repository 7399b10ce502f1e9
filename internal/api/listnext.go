package api

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// listByNext returns a page in the order of the next polls, which only the loop knows.
func (a *api) listByNext(ctx context.Context, in *listSourcesInput) (page client.SourcePage, err error) {
	var after *freshet.SourceRank
	if in.After != "" {
		rank, err := parseRank(in.After)
		if err != nil {
			return page, err
		}
		after = &rank
	}
	order, err := a.orderByNext(ctx, in.filter())
	if err != nil {
		return page, err
	}
	part, more := order.part(in, after)
	page.Items = []client.Source{}
	if more {
		next := rankText(part[len(part)-1])
		page.Next = &next
	}
	if total := len(order.ids); in.Total {
		page.Total = &total
	}
	named := make([]freshet.SourceID, len(part))
	for i, r := range part {
		named[i] = r.ID
	}
	found, err := a.Store.NamedSources(ctx, named, in.Removed) // without those that were removed meanwhile
	for _, w := range found {
		page.Items = append(page.Items, sourceOf(w))
	}
	return page, err
}

// A nextOrder is the order of sources by their next polls, as it was a moment ago. Those of which
// no poll is known come last.
type nextOrder struct {
	filter freshet.SourceFilter
	at     time.Time
	ids    []freshet.SourceID // in their order
	spots  []nextSpot
}

// A nextSpot is where a source stands: by its next poll, then in the order of the IDs.
type nextSpot struct {
	key int64
	at  int32
}

// nextOrderFor returns how long an order of so many sources counts: for a second, or, where to sort them
// takes long, for one for each 20,000. When so many polls are expected is not renewed any faster.
func nextOrderFor(sources int) time.Duration {
	return time.Duration(max(1, sources/20_000)) * time.Second
}

// orderByNext returns the order of the sources that a filter lets through. Whoever scrolls asks
// again and again: the last order is kept, and is good for the same sources.
func (a *api) orderByNext(ctx context.Context, f freshet.SourceFilter) (*nextOrder, error) {
	ids, err := a.Store.SourceIDs(ctx, f)
	if err != nil {
		return nil, err
	}
	now := a.Now()
	if o := a.byNext.Load(); o != nil && o.filter == f && slices.Equal(o.ids, ids) {
		if age := now.Sub(o.at); 0 <= age && age < nextOrderFor(len(ids)) {
			return o, nil
		}
	}
	next, err := a.foreseen(ctx, ids)
	if err != nil {
		return nil, err
	}
	o := newNextOrder(ids, next)
	o.filter, o.at = f, now
	a.byNext.Store(o)
	return o, nil
}

// newNextOrder sorts sources, whose IDs are in order.
func newNextOrder(ids []freshet.SourceID, next []time.Time) *nextOrder {
	o := &nextOrder{ids: ids, spots: make([]nextSpot, len(ids))}
	for i := range ids {
		o.spots[i] = nextSpot{math.MaxInt64, int32(i)}
		if !next[i].IsZero() {
			o.spots[i].key = next[i].UnixNano()
		}
	}
	slices.SortFunc(o.spots, func(x, y nextSpot) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.at, y.at)) })
	return o
}

func (o *nextOrder) rank(i int) freshet.SourceRank {
	return freshet.SourceRank{Key: o.spots[i].key, ID: o.ids[o.spots[i].at]}
}

// part returns the places of the sources of a page, and whether there are more.
func (o *nextOrder) part(in *listSourcesInput, after *freshet.SourceRank) (part []freshet.SourceRank, more bool) {
	q, n := freshet.SourceQuery{Reverse: in.Reverse}, len(o.spots)
	at := func(i int) freshet.SourceRank {
		if in.Reverse {
			i = n - 1 - i
		}
		return o.rank(i)
	}
	from := 0
	if after != nil {
		from = sort.Search(n, func(i int) bool { return q.Compare(at(i), *after) > 0 })
	}
	from = min(from+in.Offset, n)
	to := min(from+min(in.Limit, maxPage), n)
	for i := from; i < to; i++ {
		part = append(part, at(i))
	}
	return part, to < n
}

// foreseen returns when polls of sources are expected, if somebody knows; zero otherwise.
func (a *api) foreseen(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	if !a.Daemon.Status().Running {
		return make([]time.Time, len(ids)), nil
	}
	patient, cancel := context.WithTimeoutCause(ctx, sortPatience, errLoopBusy)
	defer cancel()
	return a.Daemon.Foreseen(patient, ids)
}
