package policy

import (
	"cmp"
	"hash/fnv"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
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

// Scaled returns the config with what is not set filled in from the product's
// own, and how much longer the product's times have become.
func (c RevisitConfig) Scaled(initial, least, most time.Duration) (RevisitConfig, float64) {
	scale := 1.0
	if c.Instant > 0 {
		scale = float64(c.Instant) / float64(least)
		least, most = c.Instant, Stretched(most, scale)
		initial = min(Stretched(initial, scale), longestStart*c.Instant)
	}
	c.Min = cmp.Or(c.Min, least)
	c.Max = max(c.Min, cmp.Or(c.Max, most))
	c.Initial = min(max(cmp.Or(c.Initial, initial), c.Min), c.Max)
	return c, scale
}

// longest bounds intervals so that a time plus one is still a time.
const longest = 100 * 365 * 24 * time.Hour

// Stretched returns a length of time multiplied by a factor, and at most a
// hundred years.
func Stretched(d time.Duration, by float64) time.Duration {
	return time.Duration(min(float64(d)*by, float64(longest)))
}

// Clamp returns an interval, in nanoseconds, as the least and the most allow it.
func (c RevisitConfig) Clamp(interval float64) time.Duration {
	return time.Duration(max(float64(c.Min), min(interval, float64(c.Max))))
}

// A RevisitRule is how a product sets when to come back to a source.
type RevisitRule interface {
	// Forget begins again for a slot that has another source.
	Forget(slot freshet.Slot)

	// Initial returns the interval of a source of which there is no outcome.
	Initial(slot freshet.Slot) time.Duration

	// Next learns from an outcome that saw the source, and returns when to
	// poll it again.
	Next(slot freshet.Slot, o freshet.Outcome) time.Time
}

// A Revisit polls each source when a rule of its own says that it is due, as
// the schedulers of today's products do. They know no budget; under one the
// most overdue goes first, and nothing is polled that is not due, so polls may
// be left over. A source that was never seen is due at once, and one that was
// seen before somewhere within its first interval.
//
// Make one with NewRevisit.
type Revisit struct {
	rule   RevisitRule
	queue  ranking.Queue
	paused []bool // by slot
	aside  []freshet.Slot
}

// NewRevisit returns a policy that polls by a rule.
func NewRevisit(rule RevisitRule) *Revisit { return &Revisit{rule: rule} }

// Put implements [freshet.Policy].
func (r *Revisit) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	r.paused = ranking.Grown(r.paused, slot)
	if !r.queue.Is(slot, s.ID) {
		r.queue.Name(slot, s.ID)
		r.rule.Forget(slot)
		due := now
		if !since.IsZero() {
			due = since.Add(Stretched(r.rule.Initial(slot), phase(s.ID)))
		}
		r.queue.Set(slot, due.UnixNano())
		r.paused[slot] = false
	}
	switch {
	case s.Apart():
		r.queue.Drop(slot)
	case r.paused[slot]:
		r.queue.Set(slot, r.queue.Due(slot))
	}
	r.paused[slot] = s.Apart()
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
	r.queue.Forget(slot)
}

// Choose implements [freshet.Policy]. The worth of a poll is 1, and 1 more for
// every hour that it is overdue.
func (r *Revisit) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := now.UnixNano()
	r.aside = r.aside[:0]
	for taken := 0; taken < n; {
		slot, due, ok := r.queue.First()
		if !ok || due > at {
			break
		}
		r.queue.Drop(slot)
		if take(slot, 1+time.Duration(at-due).Hours()) {
			taken++
		} else {
			r.aside = append(r.aside, slot)
		}
	}
	var again time.Time
	if _, due, ok := r.queue.First(); ok {
		again = time.Unix(0, due)
	}
	for _, slot := range r.aside {
		r.queue.Set(slot, r.queue.Due(slot))
	}
	return again
}

// Observe implements [freshet.Policy]. A source that was not seen stays as due
// as it was; how long to leave it alone is the scheduler's affair.
func (r *Revisit) Observe(_ time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Result.Seen() {
		r.queue.Note(slot, r.rule.Next(slot, o).UnixNano())
	}
	if !r.paused[slot] {
		r.queue.Set(slot, r.queue.Due(slot))
	}
}
