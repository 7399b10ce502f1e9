package sched

import (
	"time"

	"freshet/internal/freshet"
)

// A requestQueue is the polls that were requested, by a person or a push, and have not begun.
type requestQueue struct {
	sources *sourceTable
	queue   []freshet.Slot // first come first served
	pushes  map[freshet.Slot]*pendingPush
}

// Ask requests a poll of a source as soon as the budget and its host allow, ahead of
// the policy's choices.
func (q *requestQueue) Ask(id freshet.SourceID) {
	slot, ok := q.sources.ids.get(string(id))
	if !ok || q.sources.entries.At(slot).gone {
		return
	}
	if q.sources.entries.At(slot).asked {
		if p := q.pushes[slot]; p != nil {
			p.asks = false // now it is by hand
		}
		return
	}
	q.sources.entries.At(slot).asked = true
	q.queue = append(q.queue, slot)
}

// unseen reports whether a source waits for its first poll.
func (q *requestQueue) unseen(id freshet.SourceID) bool {
	slot, ok := q.sources.ids.get(string(id))
	if !ok {
		return false
	}
	e := q.sources.entries.At(slot)
	return !e.busy && e.seen == 0
}

// Hurry lets the next requested poll of a source not wait for its MinGap. The budget
// and the limits of hosts hold.
func (q *requestQueue) Hurry(id freshet.SourceID) {
	if slot, ok := q.sources.Slot(id); ok {
		q.sources.entries.At(slot).hurry = true
	}
}

// Requested returns the sources whose requested polls have not been made yet, first come
// first served, and then all that are being polled.
func (q *requestQueue) Requested() (ids []freshet.SourceID) {
	for _, slot := range q.queue {
		if e := q.sources.entries.At(slot); e.used && e.asked && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	for _, e := range q.sources.entries.All {
		if e.used && e.busy && !e.gone {
			ids = append(ids, e.source.ID)
		}
	}
	return ids
}

// A Push says that a source has changed: a hook was called, or a hub sent a notification.
type Push struct {
	Source freshet.SourceID
	Urgent bool // it is worth a poll of its own; otherwise it waits for the next

	Right, Times float64 // so many of so many pushes before it came with a change, of late
}

// A pendingPush is a push of which no poll has shown yet whether it is true.
type pendingPush struct {
	Push
	at   time.Time
	asks bool // it is why a poll is wanted
}

// pushed notes a notification that a source has changed. If it is urgent the source is polled as if
// a poll had been requested.
func (q *requestQueue) pushed(now time.Time, p Push) {
	slot, ok := q.sources.Slot(p.Source)
	if !ok {
		return
	}
	at := q.pushes[slot]
	if at == nil {
		at = &pendingPush{at: now}
		q.pushes[slot] = at
	}
	at.Push = p
	if p.Urgent && !q.sources.entries.At(slot).asked {
		at.asks = true
		q.Ask(p.Source)
	}
}

// causeOf returns the cause of a requested poll.
func (q *requestQueue) causeOf(slot freshet.Slot) freshet.Cause {
	if p := q.pushes[slot]; p != nil && p.asks {
		return freshet.ByPush
	}
	return freshet.ByHand
}

// pushedAt returns since when a push waits for a poll of a source; zero if none does.
func (q *requestQueue) pushedAt(slot freshet.Slot) time.Time {
	if p := q.pushes[slot]; p != nil {
		return p.at
	}
	return time.Time{}
}

// answerPush forgets a push when the source was seen after it.
func (q *requestQueue) answerPush(slot freshet.Slot, o freshet.Outcome) {
	if p := q.pushes[slot]; p != nil && o.Result.Seen() && !p.at.After(o.Began) {
		delete(q.pushes, slot)
	}
}
