package freshet

import "time"

// A Slot is a source's dense number within one scheduler: small, reused after
// a removal, and good for indexing flat slices. One pass over millions of
// sources has to fit in a tick, and a map would not.
type Slot int32

// A Learner is told what sources there are and how polls of them ended. Its
// methods are plain state changes: they read no clock, do no I/O, and give the
// same answers to the same calls.
type Learner interface {
	// Put adds a source, or tells of an edit to one. It may come again for
	// the same slot. Since is when the source was last seen, zero if never.
	Put(now time.Time, slot Slot, s Source, since time.Time)

	// Remove forgets a source. The slot may be put again for another one.
	Remove(slot Slot)

	// Observe learns how a poll of the source ended. It is called for every
	// outcome of a source that was put, whoever caused the poll, in the order
	// of the log of outcomes.
	Observe(now time.Time, slot Slot, o Outcome)
}

// A Policy ranks sources by what a poll of each would be worth. The scheduler
// around it keeps the budget, the politeness and the bounds; the policy sees
// only slots and time.
type Policy interface {
	Learner

	// Choose offers the sources most worth polling at now to take, the most
	// worth first, until n have been taken or no source has anything to gain.
	// Take reports whether the source was taken; it refuses one that may not
	// be polled now, and the policy then goes on to the next.
	//
	// Again is when to ask again although nothing has happened; zero means
	// not before something has. It matters only if fewer than n were taken.
	Choose(now time.Time, n int, take func(slot Slot, worth float64) bool) (again time.Time)
}

// An Estimator says how likely sources are to change, from what polls found. A
// poll sees only that the source differs from the last time: the change fell
// somewhere in (Since, Ended], how often and when is not known.
//
// Like a Policy it is plain state: no clock, no I/O, the same answers to the
// same calls.
type Estimator interface {
	Learner

	// Expect returns how many changes of a source are expected in (from, to].
	Expect(slot Slot, from, to time.Time) float64

	// Chances sets dst[slot], for every slot up to len(dst), to the chance
	// that the source changes in (from, to]; to 0 where there is no source.
	// It is one call for all sources, because a policy asks at every instant.
	Chances(dst []float64, from, to time.Time)
}
