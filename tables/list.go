package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sort"
	"strings"
	"unique"

	"freshet"
)

// linesAtOnce is how many lines a list looks at in one go. Meanwhile nothing is written.
const linesAtOnce = 4096

// A sought is a filter made ready for the roll.
type sought struct {
	freshet.SourceFilter
	tag, host unique.Handle[string]
	text      string
}

func soughtBy(f freshet.SourceFilter) sought {
	return sought{f, unique.Make(f.Tag), unique.Make(f.Host), strings.ToLower(f.Text)}
}

// has is SourceFilter.Has.
func (f *sought) has(l *line) bool {
	switch {
	case l.face == nil || l.removed != f.Removed:
		return false
	case f.Named && l.page, f.Of != "" && l.face.of != f.Of:
		return false
	case f.In != 0 && l.in&f.In == 0, f.Host != "" && l.face.host != f.host:
		return false
	case f.Tag != "" && !slices.Contains(l.face.tags, f.tag):
		return false
	}
	return f.text == "" || strings.Contains(l.face.id, f.text) || strings.Contains(l.face.url, f.text) ||
		strings.Contains(l.face.name, f.text) || strings.Contains(l.title, f.text)
}

// matching yields the lines that a filter lets through in the order of the IDs, with their
// places in the order. A line is good only until the next one.
func (s *Store) matching(ctx context.Context, r *roll, order []int32, f freshet.SourceFilter) iter.Seq2[int32, *line] {
	want := soughtBy(f)
	return func(yield func(int32, *line) bool) {
		for from := 0; from < len(order) && ctx.Err() == nil; from += linesAtOnce {
			if !s.some(r, order, from, &want, yield) {
				return
			}
		}
	}
}

// some goes through a part of the roll.
func (s *Store) some(r *roll, order []int32, from int, want *sought, yield func(int32, *line) bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for at := from; at < min(from+linesAtOnce, len(order)); at++ {
		if l := &r.lines[order[at]]; want.has(l) && !yield(int32(at), l) {
			return false
		}
	}
	return true
}

// A spot is where a line stands in a list: by a key, then in the order of the IDs.
type spot struct {
	key int64
	at  int32
}

func (s spot) compare(o spot) int { return cmp.Or(cmp.Compare(s.key, o.key), cmp.Compare(s.at, o.at)) }

// ListSources implements [freshet.Catalog].
func (s *Store) ListSources(ctx context.Context, q freshet.SourceQuery) (list freshet.SourceList, err error) {
	if s.cfg.ReadOnly { // somebody else may have written since
		return q.List(s.listed(ctx, q.Removed))
	}
	r, order := s.catchUp()
	compare := spot.compare
	if q.Reverse {
		compare = func(a, b spot) int { return b.compare(a) }
	}
	spots := make([]spot, 0, len(order))
	after := s.spotAfter(r, order, q.After, q.Reverse)
	for at, l := range s.matching(ctx, r, order, q.SourceFilter) {
		list.Total++
		if here := (spot{q.By.Key(l.seen.time(), l.changedAt.time(), l.polls, int(l.changes)), at}); q.After == nil || compare(here, after) > 0 {
			spots = append(spots, here)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return list, err
	}
	from := min(q.Offset, len(spots))
	to := len(spots)
	if q.Limit > 0 {
		to = min(to, from+q.Limit)
	}
	list.More = to < len(spots)
	list.Sources, err = s.named(ctx, s.idsAt(r, order, between(spots, from, to, compare)), q.Removed)
	return list, err
}

// listed yields all sources that a list can have.
func (s *Store) listed(ctx context.Context, removed bool) iter.Seq2[freshet.Watched, error] {
	if removed {
		return s.RemovedSources(ctx, "")
	}
	return s.Sources(ctx)
}

// idsAt returns the IDs of lines.
func (s *Store) idsAt(r *roll, order []int32, spots []spot) []freshet.SourceID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := make([]freshet.SourceID, len(spots))
	for i, here := range spots {
		ids[i] = r.lines[order[here.at]].id
	}
	return ids
}

// spotAfter returns the spot after which lines come after a rank. The ID may be that of no
// source.
func (s *Store) spotAfter(r *roll, order []int32, rank *freshet.SourceRank, reverse bool) spot {
	if rank == nil {
		return spot{}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, found := sort.Find(len(order), func(i int) int { return cmp.Compare(rank.ID, r.lines[order[i]].id) })
	switch {
	case reverse: // those before it come after
	case !found:
		at--
	default: // one of the same ID may have been there before, and be gone
		for at+1 < len(order) && r.lines[order[at+1]].id == rank.ID {
			at++
		}
	}
	return spot{rank.Key, int32(at)}
}

// between returns what would stand from one index to another if spots were sorted, and
// leaves the rest in no order.
func between(spots []spot, from, to int, compare func(a, b spot) int) []spot {
	if from >= to {
		return nil
	}
	divide(spots, from, compare)
	divide(spots[from:], to-from, compare)
	slices.SortFunc(spots[from:to], compare)
	return spots[from:to]
}

// divide puts the n smallest first.
func divide(spots []spot, n int, compare func(a, b spot) int) {
	for n > 0 && n < len(spots) && len(spots) > 32 {
		pivot := middle(spots[0], spots[len(spots)/2], spots[len(spots)-1], compare)
		low, high := 0, len(spots)-1
		for low <= high {
			for compare(spots[low], pivot) < 0 {
				low++
			}
			for compare(spots[high], pivot) > 0 {
				high--
			}
			if low <= high {
				spots[low], spots[high] = spots[high], spots[low]
				low, high = low+1, high-1
			}
		}
		switch { // those up to high are not above the pivot, those from low on not below it
		case n <= high:
			spots = spots[:high+1]
		case n >= low:
			spots, n = spots[low:], n-low
		default:
			return
		}
	}
	if n > 0 && n < len(spots) {
		slices.SortFunc(spots, compare)
	}
}

// middle returns the second of three.
func middle(a, b, c spot, compare func(a, b spot) int) spot {
	if compare(a, b) > 0 {
		a, b = b, a
	}
	if compare(b, c) > 0 {
		b = c
	}
	if compare(a, b) > 0 {
		b = a
	}
	return b
}

// named returns sources by their IDs, in that order, without those that are gone.
func (s *Store) named(ctx context.Context, ids []freshet.SourceID, removed bool) ([]freshet.Watched, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := s.watched(ctx, selectSources+"AND s.id IN (SELECT value FROM json_each(?))", removed, string(text))
	if err != nil {
		return nil, s.fault("reading the sources", err)
	}
	place := make(map[freshet.SourceID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(found, func(a, b freshet.Watched) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return found, nil
}

// SourceIDs implements [freshet.Catalog].
func (s *Store) SourceIDs(ctx context.Context, f freshet.SourceFilter) (ids []freshet.SourceID, err error) {
	if s.cfg.ReadOnly {
		for w, err := range s.listed(ctx, f.Removed) {
			if err != nil {
				return nil, err
			}
			if f.Has(w) {
				ids = append(ids, w.ID)
			}
		}
		return ids, nil
	}
	r, order := s.catchUp()
	for _, l := range s.matching(ctx, r, order, f) {
		ids = append(ids, l.id)
	}
	return ids, context.Cause(ctx)
}

// CountSources implements [freshet.Catalog].
func (s *Store) CountSources(ctx context.Context) (freshet.SourceCounts, error) {
	if s.cfg.ReadOnly {
		return freshet.Count(s.Sources(ctx))
	}
	s.catchUp()
	n := freshet.SourceCounts{
		All: freshet.StateCounts{In: map[freshet.Conditions]int{}}, Named: freshet.StateCounts{In: map[freshet.Conditions]int{}},
		Tags: map[string]int{}, Hosts: map[string]int{},
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for in := range s.roll.states[0] {
		n.All.Add(freshet.Conditions(in), s.roll.states[0][in])
		n.Named.Add(freshet.Conditions(in), s.roll.states[1][in])
	}
	for tag, sources := range s.roll.tags {
		n.Tags[tag.Value()] = sources
	}
	for host, sources := range s.roll.hosts {
		n.Hosts[host.Value()] = sources
	}
	return n, nil
}
