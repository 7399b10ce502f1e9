package store

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"freshet/internal/freshet"
)

// A keptKey says what a list has, and in which order.
type keptKey struct {
	freshet.SourceFilter
	by freshet.SourceOrder
}

// A kept is a list that somebody asked for. It stays sorted between requests: who asks
// again has it brought up to date by the lines that changed since, and pays for those.
// It has the places of its lines and nothing else, four bytes each: what they are sorted
// by is in the roll, and as it was for all lines that did not change.
type kept struct {
	want sought
	by   freshet.SourceOrder
	used int64        // when it was last asked for; the mu of orders guards it
	size atomic.Int64 // lines that it has

	mu     sync.Mutex // taken before that of the store
	made   bool
	places []int32
	upto   int64    // place in the journal up to which changes are in it
	dirty  []uint64 // a bit for each line of the roll; all clear between updates
}

// The lists that a roll keeps: so many, and with so many lines together for each line of
// the roll. That is 32 bytes a source at most. Those that were not asked for longest go.
const (
	mostKept     = 16
	mostKeptEach = 8
)

// orders are the lists that a roll keeps.
type orders struct {
	mu   sync.Mutex
	all  map[keptKey]*kept
	asks int64
}

// of returns the list of a key.
func (o *orders) of(key keptKey) *kept {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.all[key]
	if k == nil {
		k = &kept{want: soughtBy(key.SourceFilter), by: key.by}
		o.all[key] = k
	}
	o.asks++
	k.used = o.asks
	return k
}

// trim forgets lists until what is kept of a roll with so many lines is not too much. The
// one that was just asked for stays.
func (o *orders) trim(lines int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.all) > 1 {
		var held int64
		var oldest keptKey
		used := o.asks + 1
		for key, k := range o.all {
			held += k.size.Load()
			if k.used < used {
				oldest, used = key, k.used
			}
		}
		if len(o.all) <= mostKept && held <= int64(mostKeptEach*lines) {
			return
		}
		delete(o.all, oldest)
	}
}

// key returns what a line is sorted by.
func (l *line) key(by freshet.SourceOrder) int64 {
	return by.Key(l.seen.Time(), l.changedAt.Time(), l.polls, int(l.changes))
}

// against compares the line at a place with a rank.
func (k *kept) against(r *roll, place int32, rank freshet.SourceRank) int {
	l := &r.lines[place]
	return cmp.Or(cmp.Compare(l.key(k.by), rank.Key), cmp.Compare(l.id, rank.ID))
}

// rank returns the rank of a line.
func (k *kept) rank(r *roll, place int32) freshet.SourceRank {
	l := &r.lines[place]
	return freshet.SourceRank{Key: l.key(k.by), ID: l.id}
}

// inOrder calls f with a list that is up to date while nothing is written.
func (s *ledger) inOrder(ctx context.Context, key keptKey, f func(*roll, *kept)) error {
	for {
		r, order, now := s.catchUp()
		k := r.orders.of(key)
		done, err := s.askedFor(ctx, r, order, now, k, f)
		r.orders.trim(len(order))
		if done || err != nil {
			return err
		}
	}
}

// askedFor sorts a list if it is not kept, and brings it up to date. The order is that of the
// roll, as it was at a place in the journal. It fails to if so much was written meanwhile that the
// journal does not reach back.
func (s *ledger) askedFor(ctx context.Context, r *roll, order []int32, now int64, k *kept, f func(*roll, *kept)) (done bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.made || !s.updated(r, k, f) {
		if err := s.sortAnew(ctx, r, order, now, k); err != nil {
			return false, err
		}
		return s.updated(r, k, f), nil
	}
	return true, nil
}

// updated brings a list up to date and calls f, if the journal reaches back far enough.
func (s *ledger) updated(r *roll, k *kept, f func(*roll, *kept)) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k.upto < r.cut {
		return false
	}
	k.update(r)
	f(r, k)
	return true
}

// sortAnew makes a list. Lines that change meanwhile may be anywhere in it, or missing: the
// journal has them.
func (s *ledger) sortAnew(ctx context.Context, r *roll, order []int32, now int64, k *kept) error {
	k.made = false
	var spots []spot
	for at, l := range s.matching(ctx, r, order, k.want) {
		spots = append(spots, spot{l.key(k.by), at})
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if k.by != freshet.ByID {
		slices.SortFunc(spots, spot.compare)
	}
	k.places = slices.Grow(k.places[:0], len(spots))
	for _, here := range spots {
		k.places = append(k.places, order[here.at])
	}
	k.made, k.upto = true, now
	return nil
}

// update takes all lines out that changed, and puts those that the list has where they
// belong now. The others stand in order as they are.
func (k *kept) update(r *roll) {
	changed := r.journal[k.upto-r.cut:]
	k.upto += int64(len(changed))
	if len(changed) > 0 {
		k.replace(r, changed)
	}
	k.size.Store(int64(len(k.places)))
}

func (k *kept) replace(r *roll, changed []int32) {
	if words := (len(r.lines) + 63) / 64; len(k.dirty) < words {
		k.dirty = make([]uint64, words)
	}
	for _, place := range changed {
		k.dirty[place/64] |= 1 << (place % 64)
	}
	k.places = slices.DeleteFunc(k.places, func(place int32) bool { return k.dirty[place/64]&(1<<(place%64)) != 0 })
	var moved []int32
	for _, place := range changed {
		word, bit := &k.dirty[place/64], uint64(1)<<(place%64)
		if *word&bit == 0 { // it changed more than once
			continue
		}
		*word &^= bit
		if k.want.has(&r.lines[place]) {
			moved = append(moved, place)
		}
	}
	slices.SortFunc(moved, func(a, b int32) int { return k.against(r, a, k.rank(r, b)) })
	k.merge(r, moved)
}

// merge puts lines that are in order into the list, the last one first.
func (k *kept) merge(r *roll, moved []int32) {
	n := len(k.places)
	k.places = slices.Grow(k.places, len(moved))[:n+len(moved)]
	for i, place := range slices.Backward(moved) {
		rank := k.rank(r, place)
		at := sort.Search(n, func(j int) bool { return k.against(r, k.places[j], rank) > 0 })
		copy(k.places[at+i+1:], k.places[at:n])
		k.places[at+i], n = place, at
	}
}

// part returns the IDs of the part of a list that a query asks for. Its list has no
// sources yet.
func (k *kept) part(r *roll, q freshet.SourceQuery) (list freshet.SourceList, ids []freshet.SourceID) {
	n := len(k.places)
	list.Total = n
	from := 0
	if q.After != nil {
		above := sort.Search(n, func(i int) bool { return k.against(r, k.places[i], *q.After) > 0 })
		if from = above; q.Reverse {
			from = n - sort.Search(n, func(i int) bool { return k.against(r, k.places[i], *q.After) >= 0 })
		}
	}
	from = min(from+q.Offset, n)
	to := n
	if q.Limit > 0 {
		to = min(n, from+q.Limit)
	}
	list.More = to < n
	for i := from; i < to; i++ {
		place := k.places[i]
		if q.Reverse {
			place = k.places[n-1-i]
		}
		ids = append(ids, r.lines[place].id)
		list.End = k.rank(r, place)
	}
	return list, ids
}
