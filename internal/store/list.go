package store

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unique"

	"freshet/internal/freshet"
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
func (s *ledger) matching(ctx context.Context, r *roll, order []int32, want sought) iter.Seq2[int32, *line] {
	return func(yield func(int32, *line) bool) {
		for from := 0; from < len(order) && ctx.Err() == nil; from += linesAtOnce {
			if !s.some(r, order, from, &want, yield) {
				return
			}
		}
	}
}

// some goes through a part of the roll.
func (s *ledger) some(r *roll, order []int32, from int, want *sought, yield func(int32, *line) bool) bool {
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
func (s *sourceReader) ListSources(ctx context.Context, q freshet.SourceQuery) (list freshet.SourceList, err error) {
	if !s.keepsRoll() {
		return q.List(s.listed(ctx, q.Removed))
	}
	if err := s.upToDate(ctx); err != nil {
		return list, s.fault("reading the store", err)
	}
	var ids []freshet.SourceID
	err = s.inOrder(ctx, keptKey{q.SourceFilter, q.By}, func(r *roll, k *kept) { list, ids = k.part(r, q) })
	if err == nil {
		list.Sources, err = s.NamedSources(ctx, ids, q.Removed)
	}
	return list, err
}

// listed yields all sources that a list can have.
func (s *sourceReader) listed(ctx context.Context, removed bool) iter.Seq2[freshet.Watched, error] {
	if removed {
		return s.RemovedSources(ctx, "")
	}
	return s.Sources(ctx)
}

// NamedSources implements [freshet.Catalog].
func (s *sourceReader) NamedSources(ctx context.Context, ids []freshet.SourceID, removed bool) ([]freshet.Watched, error) {
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
func (s *sourceReader) SourceIDs(ctx context.Context, f freshet.SourceFilter) (ids []freshet.SourceID, err error) {
	if !s.keepsRoll() {
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
	if err := s.upToDate(ctx); err != nil {
		return nil, s.fault("reading the store", err)
	}
	err = s.inOrder(ctx, keptKey{f, freshet.ByID}, func(r *roll, k *kept) {
		_, ids = k.part(r, freshet.SourceQuery{})
	})
	return ids, err
}

// CountSources implements [freshet.Catalog].
func (s *sourceReader) CountSources(ctx context.Context) (freshet.SourceCounts, error) {
	if !s.keepsRoll() {
		return freshet.Count(s.Sources(ctx))
	}
	if err := s.upToDate(ctx); err != nil {
		return freshet.SourceCounts{}, s.fault("reading the store", err)
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
