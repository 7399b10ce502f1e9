package queries

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/cespare/xxhash/v2"

	"freshet/internal/binenc"
)

const (
	maxSeen     = 100_000 // values that a group remembers for each function
	maxElements = 2000    // of one list
	seenChunk   = 512     // that are saved together
)

// A seen is which values there have been, by their hashes, in the order in which they
// came.
type seen struct {
	at    map[uint64]int64 // when each counted as new
	order []sight
	base  int64          // how many have been forgotten
	dirty map[int64]bool // chunks
	parts []seenPart     // that have been restored and are not put together yet
}

// A sight is a value that counted as new at a time.
type sight struct {
	hash uint64
	at   int64
}

// A seenPart is a chunk of a seen.
type seenPart struct {
	from   int64
	sights []sight
}

func newSeen() *seen { return &seen{at: map[uint64]int64{}, dirty: map[int64]bool{}} }

// add reports whether a value is new: never seen, or not for so long.
func (s *seen) add(h uint64, at int64, over time.Duration) (fresh, forgot bool) {
	if before, ok := s.at[h]; ok && (over == 0 || at-before < int64(over)) {
		return false, false
	}
	s.at[h] = at
	s.dirty[(s.base+int64(len(s.order)))/seenChunk] = true
	s.order = append(s.order, sight{h, at})
	for {
		oldest := s.order[0]
		expired := over > 0 && oldest.at < at-2*int64(over)
		if !expired && len(s.order) <= maxSeen {
			return true, forgot
		}
		if s.at[oldest.hash] == oldest.at { // it has not come again
			delete(s.at, oldest.hash)
			forgot = forgot || !expired
		}
		s.order = s.order[1:]
		s.dirty[s.base/seenChunk] = true
		s.base++
	}
}

// join puts the parts together that have been restored.
func (s *seen) join() error {
	slices.SortFunc(s.parts, func(a, b seenPart) int { return cmp.Compare(a.from, b.from) })
	for i, p := range s.parts {
		if i == 0 {
			s.base = p.from
		}
		if p.from != s.base+int64(len(s.order)) || len(s.order)+len(p.sights) > maxSeen+seenChunk {
			return binenc.ErrMalformed
		}
		s.order = append(s.order, p.sights...)
		for _, x := range p.sights {
			s.at[x.hash] = x.at
		}
	}
	s.parts = nil
	return nil
}

// hashOf returns the hash of a value, and false if there is none.
func hashOf(v ref.Val) (uint64, bool) {
	switch v := v.(type) {
	case types.String:
		return xxhash.Sum64String("t" + string(v)), true
	case types.Double, types.Int, types.Bool, types.Timestamp, traits.Lister:
		text, err := json.Marshal(plainOf(v, 0))
		return xxhash.Sum64(text), err == nil
	}
	return 0, false
}

// prime takes in, as seen, what a source was before the first change of it that is counted.
func (g *group) prime(v *view, at int) {
	for i, b := range g.of.backs {
		if b.recorded() {
			continue
		}
		source := xxhash.Sum64String("s" + string(v.event.Subject.ID))
		fresh, forgot := g.seen[i].add(source, g.records[at].at, 0)
		g.forget(forgot)
		if fresh {
			g.firstSeen(i, b, g.of.part(b.arg, v.past()), g.records[at].at, maxSeen)
		}
	}
}

// firstSeen returns what first or unseen comes to, and takes the values in; of a list at most so many.
func (g *group) firstSeen(i int, b back, v ref.Val, at int64, most types.Int) ref.Val {
	s := g.seen[i]
	if b.kind == "first" {
		h, ok := hashOf(v)
		if !ok {
			return errUnknown
		}
		fresh, forgot := s.add(h, at, b.over)
		g.forget(forgot)
		return types.Bool(fresh)
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return errUnknown
	}
	size, _ := list.Size().(types.Int)
	var unseen []ref.Val
	for n := range min(size, most) {
		x := list.Get(n)
		h, ok := hashOf(x)
		if !ok {
			continue
		}
		fresh, forgot := s.add(h, at, b.over)
		g.forget(forgot)
		if fresh {
			unseen = append(unseen, x)
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, unseen)
}
