package policy

import (
	"time"

	"freshet"
	"freshet/learn"
)

// Taught is a policy that a learner follows, so that what it captures and misses
// can be told although it does not learn itself.
type Taught struct {
	freshet.Policy
	Learner *learn.Learner
}

// Put implements [freshet.Policy].
func (t *Taught) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	t.Learner.Put(now, slot, s, since)
	t.Policy.Put(now, slot, s, since)
}

// Remove implements [freshet.Policy].
func (t *Taught) Remove(slot freshet.Slot) {
	t.Learner.Remove(slot)
	t.Policy.Remove(slot)
}

// Observe implements [freshet.Policy].
func (t *Taught) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	t.Learner.Observe(slot, o)
	t.Policy.Observe(now, slot, o)
}

// Outlook returns what is thought of a source at now. What a poll of it is worth
// to the policy is not known.
func (t *Taught) Outlook(now time.Time, slot freshet.Slot) freshet.Outlook {
	return t.Learner.Outlook(now, slot)
}
