package policy

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// Uniform polls the sources in the order of their IDs, round and round, each
// once a round. It learns nothing, which makes it the measure of those that
// do: what they capture beyond it is what their learning is worth.
//
// A source that may not be polled when its turn comes is tried again ahead of
// the others until it may.
type Uniform struct {
	ids    []freshet.SourceID // by slot; empty where there is no source to poll
	order  []freshet.Slot     // by ID
	next   int                // place in order
	late   []freshet.Slot     // passed over, the longest waiting first
	isLate []bool             // by slot
	dirty  bool               // order is out of date

	latest time.Time        // before the first choice: when a source was last seen,
	resume freshet.SourceID // and which, so that a round goes on after a restart
	begun  bool
}

// Put implements [freshet.Policy].
func (u *Uniform) Put(_ time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	u.goOnAfter(s.ID, since)
	u.ids, u.isLate = ranking.Grown(u.ids, slot), ranking.Grown(u.isLate, slot)
	if s.Apart() {
		s.ID = ""
	}
	if u.ids[slot] != s.ID {
		u.ids[slot], u.dirty = s.ID, true
	}
}

// Remove implements [freshet.Policy].
func (u *Uniform) Remove(slot freshet.Slot) {
	u.ids[slot], u.dirty = "", true
}

// Choose implements [freshet.Policy].
func (u *Uniform) Choose(_ time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if u.dirty {
		u.sort()
	}
	taken := 0
	kept := u.late[:0]
	for _, slot := range u.late {
		if taken < n && take(slot, 1) {
			taken++
			u.isLate[slot] = false
		} else {
			kept = append(kept, slot)
		}
	}
	u.late = kept
	u.goRound(n-taken, take)
	return time.Time{}
}

// goRound goes on with the round until n more are taken, or all have been tried.
func (u *Uniform) goRound(n int, take func(freshet.Slot, float64) bool) {
	place, passed := u.next, len(u.late) // after the last that was taken
	for range u.order {
		if n == 0 {
			return
		}
		if u.next >= len(u.order) {
			u.next = 0
		}
		slot := u.order[u.next]
		u.next++
		switch {
		case u.isLate[slot]: // has been tried already
		case take(slot, 1):
			n--
			place, passed = u.next, len(u.late)
		default:
			u.late = append(u.late, slot)
			u.isLate[slot] = true
		}
	}
	// Nothing can be polled now, be it for want of room. Those that were refused since
	// have not been passed over: the round stands still before them.
	for _, slot := range u.late[passed:] {
		u.isLate[slot] = false
	}
	u.late, u.next = u.late[:passed], place
}

// sort brings order up to date, and goes on at the ID where the round was.
func (u *Uniform) sort() {
	var at freshet.SourceID
	if u.next < len(u.order) {
		at = u.ids[u.order[u.next]]
	}
	u.order = u.order[:0]
	for slot, id := range u.ids {
		if id != "" {
			u.order = append(u.order, freshet.Slot(slot))
		}
	}
	slices.SortFunc(u.order, func(a, b freshet.Slot) int {
		return cmp.Compare(u.ids[a], u.ids[b])
	})
	if !u.begun {
		u.begun, at = true, u.resume+"\x00" // what follows the one that was last seen
	}
	if at != "" {
		u.next, _ = slices.BinarySearchFunc(u.order, at, func(s freshet.Slot, id freshet.SourceID) int {
			return cmp.Compare(u.ids[s], id)
		})
	} else {
		u.next = min(u.next, len(u.order))
	}
	u.late = slices.DeleteFunc(u.late, func(s freshet.Slot) bool {
		u.isLate[s] = u.ids[s] != ""
		return !u.isLate[s]
	})
	u.dirty = false
}

// goOnAfter notes, before the first choice, that a source was seen: the round
// goes on after the latest. Of several seen at once that is the last in the order.
func (u *Uniform) goOnAfter(id freshet.SourceID, seen time.Time) {
	if !u.begun && (seen.After(u.latest) || seen.Equal(u.latest) && id > u.resume) {
		u.latest, u.resume = seen, id
	}
}

// Observe implements [freshet.Policy]. Uniform learns nothing but where its round
// was before a restart.
func (u *Uniform) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Result.Seen() {
		u.goOnAfter(u.ids[slot], o.Began)
	}
}
