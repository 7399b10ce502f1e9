package policy

import (
	"cmp"
	"hash/fnv"
	"time"

	"freshet"
)

// A RevisitConfig sets the intervals of a Revisit. What is 0 is as the product
// has it.
type RevisitConfig struct {
	Initial time.Duration // until something is known of a source
	Min     time.Duration // between two polls
	Max     time.Duration

	// Instant, if set, is taken for the product's smallest interval, and
	// everything else that is not set is scaled with it: a trace at minutes
	// then finds a crawler of days as quick in proportion. No source begins
	// with more than an hour of such minutes, lest a short trace end before
	// the rule has had its effect.
	Instant time.Duration

	Seed uint64 // of the jitter, where there is any
}

// longestStart is how many instants the scaled initial interval has at most.
const longestStart = 60

// scaled returns the config with what is not set filled in from the product's
// own, and how much longer the product's times have become.
func (c RevisitConfig) scaled(initial, least, most time.Duration) (RevisitConfig, float64) {
	scale := 1.0
	if c.Instant > 0 {
		scale = float64(c.Instant) / float64(least)
		least, most = c.Instant, stretched(most, scale)
		initial = min(stretched(initial, scale), longestStart*c.Instant)
	}
	c.Min = cmp.Or(c.Min, least)
	c.Max = max(c.Min, cmp.Or(c.Max, most))
	c.Initial = min(max(cmp.Or(c.Initial, initial), c.Min), c.Max)
	return c, scale
}

// longest bounds intervals so that a time plus one is still a time.
const longest = 100 * 365 * 24 * time.Hour

func stretched(d time.Duration, by float64) time.Duration {
	return time.Duration(min(float64(d)*by, float64(longest)))
}

func (c RevisitConfig) clamp(interval float64) time.Duration {
	return time.Duration(max(float64(c.Min), min(interval, float64(c.Max))))
}

// A revisitRule is how a product sets when to come back to a source.
type revisitRule interface {
	// forget begins anew for a slot that has another source.
	forget(slot freshet.Slot)

	// initial returns the interval of a source of which there is no outcome.
	initial(slot freshet.Slot) time.Duration

	// next learns from an outcome that saw the source, and returns when to
	// poll it again.
	next(slot freshet.Slot, o freshet.Outcome) time.Time
}

// A Revisit polls each source when a rule of its own says that it is due, as
// the schedulers of today's products do. They know no budget; under one the
// most overdue goes first, and nothing is polled that is not due, so polls may
// be left over. A source that was never seen is due at once, and one that was
// seen before somewhere within its first interval.
type Revisit struct {
	rule   revisitRule
	queue  dueQueue
	paused []bool // by slot
	aside  []freshet.Slot
}

// Put implements [freshet.Policy].
func (r *Revisit) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	r.paused = grown(r.paused, slot)
	if int(slot) >= len(r.queue.ids) || r.queue.ids[slot] != s.ID {
		r.queue.name(slot, s.ID)
		r.rule.forget(slot)
		due := now
		if !since.IsZero() {
			due = since.Add(stretched(r.rule.initial(slot), phase(s.ID)))
		}
		r.queue.set(slot, due.UnixNano())
		r.paused[slot] = false
	}
	switch {
	case s.Paused:
		r.queue.drop(slot)
	case r.paused[slot]:
		r.queue.set(slot, r.queue.due[slot])
	}
	r.paused[slot] = s.Paused
}

// phase returns a number from 0 to 1 that is drawn from an ID. Sources that are
// known but not since when they are at their interval begin anywhere in it, as
// those of a product that has long been at work are; or all would come at once.
func phase(id freshet.SourceID) float64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	x := h.Sum64()
	x ^= x >> 32
	x *= 0x9e3779b97f4a7c15 // the hash alone is uneven in its upper bits
	return float64(x>>11) / (1 << 53)
}

// Remove implements [freshet.Policy].
func (r *Revisit) Remove(slot freshet.Slot) {
	r.queue.drop(slot)
	r.queue.ids[slot] = ""
}

// Choose implements [freshet.Policy]. The worth of a poll is 1, and 1 more for
// every hour that it is overdue.
func (r *Revisit) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := now.UnixNano()
	r.aside = r.aside[:0]
	for taken := 0; taken < n; {
		slot, due, ok := r.queue.first()
		if !ok || due > at {
			break
		}
		r.queue.drop(slot)
		if take(slot, 1+time.Duration(at-due).Hours()) {
			taken++
		} else {
			r.aside = append(r.aside, slot)
		}
	}
	var again time.Time
	if _, due, ok := r.queue.first(); ok {
		again = time.Unix(0, due)
	}
	for _, slot := range r.aside {
		r.queue.set(slot, r.queue.due[slot])
	}
	return again
}

// Observe implements [freshet.Policy]. A source that was not seen stays as due
// as it was; how long to leave it alone is the scheduler's affair.
func (r *Revisit) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Result.Seen() {
		r.queue.due[slot] = r.rule.next(slot, o).UnixNano()
	}
	if !r.paused[slot] {
		r.queue.set(slot, r.queue.due[slot])
	}
}
