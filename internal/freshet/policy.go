package freshet

import "time"

// A Slot is a source's dense number within one scheduler: small, reused after
// a removal, and good for indexing flat slices. One pass over millions of
// sources has to fit in a tick, and a map would not.
type Slot int32

// A Learner observes sources and the outcomes of their polls. It is deterministic: its
// methods read no clock, do no I/O, and give the same answers to the same calls.
type Learner interface {
	// Put adds a source or updates it after an edit. Since is when the source was last
	// seen, zero if never.
	Put(now time.Time, slot Slot, s Source, since time.Time)

	// Remove forgets a source. The slot may be put again for another one.
	Remove(slot Slot)

	// Observe learns from an outcome. It is called for every outcome of a source, whatever
	// its cause, in the order of the log.
	Observe(now time.Time, slot Slot, o Outcome)
}

// A Policy ranks sources by the value of a poll. The scheduler enforces the budget, the
// politeness and the bounds; the policy sees only slots and time.
type Policy interface {
	Learner

	// Choose offers sources to take, the most valuable first, until take has accepted n or
	// no source has anything to gain. Take refuses a source that may not be polled now; the
	// policy then goes on to the next.
	//
	// Again is when to call Choose again although nothing has happened; zero means not
	// before something has. It matters only if fewer than n were taken.
	Choose(now time.Time, n int, take func(slot Slot, worth float64) bool) (again time.Time)
}

// An Estimator estimates how likely sources are to change. A poll only shows that the source
// differs from the last look: it changed at least once in (Since, Ended], at unknown times.
//
// Like a Policy it is deterministic: no clock, no I/O, the same answers to the same calls.
type Estimator interface {
	Learner

	// Expect returns the expected number of changes of a source in (from, to].
	Expect(slot Slot, from, to time.Time) float64

	// Chances sets dst[slot], for every slot up to len(dst), to the probability that the
	// source changes in (from, to]; to 0 where there is no source. It is one call for all
	// sources because a policy needs them at every step.
	Chances(dst []float64, from, to time.Time)
}
