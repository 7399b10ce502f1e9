package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// What is pruned for its age is gone for good, and a wall clock that was set ahead
// makes everything old at once. So an age counts from a date that has been
// confirmed: the daemon was at work, by the same clock, well before it.
const (
	confirmAfter  = 12 * time.Hour
	confirmWithin = 48 * time.Hour
)

// witnessBelief is the estimator under which it is kept when the daemon was at
// work.
const witnessBelief = "witness"

// confirmed returns the latest date that is confirmed: now, or when the daemon
// was last at work before. It is zero if there is none.
func confirmed(now time.Time, seen []time.Time) (date time.Time) {
	for _, t := range seen {
		switch {
		case t.After(now.Add(-confirmAfter)):
		case !t.Before(now.Add(-confirmWithin)):
			return now
		case t.After(date):
			date = t
		}
	}
	return date
}

// witness returns the confirmed date, and keeps that the daemon is at work now.
func (b *brain) witness(ctx context.Context) (time.Time, error) {
	now := b.dates.Date(b.dates.Now())
	date, seen, err := b.confirmedDate(ctx, now)
	if err != nil {
		return time.Time{}, err
	}
	seen = slices.DeleteFunc(seen, func(t time.Time) bool {
		return t.After(now) || t.Before(now.Add(-confirmWithin)) && !t.Equal(date)
	})
	memory, err := json.Marshal(append(seen, now))
	if err != nil {
		return time.Time{}, err
	}
	return date, b.store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: witnessBelief, Memory: withChecksum(memory)}})
}

// confirmedDate returns the date that is confirmed now, and when the daemon was at work.
func (b *brain) confirmedDate(ctx context.Context, now time.Time) (date time.Time, seen []time.Time, err error) {
	for belief, err := range b.store.Beliefs(ctx, witnessBelief) {
		if err != nil {
			return time.Time{}, nil, err
		}
		if memory, err := verified(belief.Memory); err != nil || json.Unmarshal(memory, &seen) != nil {
			seen = nil // damaged: it is confirmed anew
		}
	}
	return confirmed(now, seen), seen, nil
}
