package freshet

import "time"

// When a source counts as noisy.
const (
	noisyPolls = 10  // after the first; fewer say nothing
	noisyShare = 0.9 // of them that found a change
	noisyQuiet = 5   // so many polls without a change running, and it is no longer noisy

	// Polls that are farther apart on average may all find a real change, which cannot be
	// distinguished from noise.
	noisyGap = time.Hour
)

// Noisy reports whether a source differs at nearly every poll, for example because it shows
// the time or shuffles its rows. A page that changes faster than it is polled looks the same.
func (w SourceWithStatus) Noisy() bool {
	st := w.Status
	if !noisyOf(st.Polls, st.Changes) {
		return false
	}
	gap := st.Seen.Sub(w.Created) / time.Duration(st.Polls-1)
	return gap <= noisyGap && st.Seen.Sub(st.ChangedAt) <= noisyQuiet*gap
}

// BecameNoisy reports whether the last poll, which found a change, made the source
// noisy.
func (w SourceWithStatus) BecameNoisy() bool {
	return w.Noisy() && !noisyOf(w.Status.Polls-1, w.Status.Changes-1)
}

// noisyOf reports whether so many polls found changes often enough.
func noisyOf(polls int64, changes int) bool {
	return polls-1 >= noisyPolls && float64(changes) >= noisyShare*float64(polls-1)
}
