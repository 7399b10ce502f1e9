package store

import (
	"context"
	"maps"
	"slices"

	"freshet/internal/freshet"
)

// A waiting source has versions that are not in the index yet, or is there no more.
type waiting struct {
	id   freshet.SourceID
	upto int64 // the last version that is in the index
}

// note notes what a batch did to a source, as far as it concerns the index.
func (x *searchIndex) note(old, now *entry) {
	same := old != nil && now != nil && old.key == now.key
	if same && old.head == now.head && old.first == now.first {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known {
		return // all will be looked at
	}
	if old != nil && old.head > 0 {
		x.add(old.key, waiting{old.id, old.head})
	}
	if now != nil && now.head > 0 && (old == nil || old.key != now.key || old.head == 0) {
		x.add(now.key, waiting{now.id, 0})
	}
}

// add notes that a source has something to index.
func (x *searchIndex) add(key int64, w waiting) {
	if before, ok := x.waits[key]; ok {
		w.upto = min(w.upto, before.upto)
	} else {
		x.queue = append(x.queue, key)
	}
	x.waits[key] = w
	x.left++
}

// first returns some of the sources that wait, those first that are next, with their keys in that order.
func (x *searchIndex) first(most int) (keys []int64, waits map[int64]waiting) {
	x.mu.Lock()
	defer x.mu.Unlock()
	waits = map[int64]waiting{}
	for _, key := range x.queue {
		if len(keys) >= most {
			break
		}
		w, still := x.waits[key]
		if _, twice := waits[key]; still && !twice {
			keys, waits[key] = append(keys, key), w
		}
	}
	return keys, waits
}

// trim takes those from the head of the queue that do not wait any more.
func (x *searchIndex) trim() {
	for len(x.queue) > 0 {
		if _, still := x.waits[x.queue[0]]; still {
			return
		}
		x.queue = x.queue[1:]
	}
}

// forget forgets what waits: all will be looked at.
func (x *searchIndex) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known, x.waits, x.queue, x.left = false, nil, nil, 0
}

// findWaiting finds out which sources have something to index, once: from then on each
// batch says so. An index of a store that has been replaced by an older copy is refused.
func (s *searcher) findWaiting(ctx context.Context) error {
	x := s.index
	x.mu.Lock()
	known := x.known
	if !known {
		x.known, x.waits, x.queue, x.left = true, map[int64]waiting{}, nil, 0 // what comes from here on is noted
	}
	x.mu.Unlock()
	if known {
		return nil
	}
	err := s.lookAtAll(ctx)
	if err != nil {
		x.mu.Lock()
		x.known = false
		x.mu.Unlock()
	}
	return err
}

// lookAtAll notes which sources have something to index, by what is in the index.
func (s *searcher) lookAtAll(ctx context.Context) error {
	x := s.index
	if err := s.fitsStore(ctx); err != nil {
		return err
	}
	found, err := s.index.Indexed(ctx)
	if err != nil {
		return err
	}
	s.mu.RLock()
	r := s.roll
	s.mu.RUnlock()
	for from, more := 0, true; more; from += lookAtOnce {
		if more, err = s.lookAtSome(r, from, found); err != nil {
			return err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range found { // purged
		x.add(key, waiting{"", at.Upto})
	}
	x.queue = slices.Sorted(maps.Keys(x.waits))
	x.left = s.countWaiting()
	return nil
}

// lookAtOnce is how many sources are looked at while nothing can be written.
const lookAtOnce = 1000

// lookAtSome looks at the sources of some lines of the roll, and takes those from what is in the index.
// It reports whether there are more. What comes meanwhile each batch says.
func (s *searcher) lookAtSome(r *roll, from int, found map[int64]Indexed) (more bool, err error) {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	upto := min(len(r.lines), from+lookAtOnce)
	for _, l := range r.lines[from:upto] {
		e := s.entries[l.id]
		if l.face == nil || e == nil { // it is gone
			continue
		}
		at, ok := found[e.key]
		delete(found, e.key)
		if at.Upto > e.lastVersion() {
			return false, ErrStaleIndex
		}
		if e.head > at.Upto || ok && e.first > at.First {
			x.add(e.key, waiting{l.id, at.Upto})
		}
	}
	return upto < len(r.lines), nil
}

// finishWaiting notes how far sources have been indexed, by so many versions.
func (s *searcher) finishWaiting(done map[int64]Indexed, versions int) {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range done {
		w := x.waits[key]
		if e := s.entries[w.id]; e != nil && e.key == key && (e.head > at.Upto || e.first > at.First) {
			w.upto = at.Upto
			x.waits[key] = w
			continue
		}
		delete(x.waits, key)
	}
	x.trim()
	x.left -= versions
}

// fewWaiting is how many sources are few enough to be counted each time.
const fewWaiting = 1000

// waitingVersions returns about how many versions are not in the index yet.
func (s *searcher) waitingVersions() int {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waits) <= fewWaiting {
		x.left = s.countWaiting()
	}
	return max(x.left, len(x.waits))
}

// countWaiting goes through all sources that wait.
func (s *searcher) countWaiting() (n int) {
	for key, w := range s.index.waits {
		n++
		if e := s.entries[w.id]; e != nil && e.key == key && e.head > w.upto {
			n += int(e.head-max(w.upto, e.first-1)) - 1
		}
	}
	return n
}
