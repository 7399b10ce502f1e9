package learn

import (
	"math"

	"freshet/internal/freshet"
)

// A rhythm tells from polls alone whether a source changes more evenly than at
// random, or in bursts. At random, whether a poll finds a change says nothing of
// the next poll. A source that changes evenly is found changed more often after
// a poll that found nothing, and less often after one that did; a source that
// changes in bursts the other way round.
//
// How many changes came and went between two polls depends on it: of an even
// source that is polled more often than it changes none do, whatever chance
// would have it.
type rhythm struct {
	even  float32 // how far polls went the other way than those before them, summed
	most  float32 // the same, if the source were as even as a clock
	noise float32 // the square of what chance adds to even
	said  float32 // chance that was said of the last poll; negative if it found nothing; 0 if there was none
}

// add takes in what a poll found and the chance that was said of it.
func (r *rhythm) add(weight, chance float64, found bool) {
	p, off := chance, -chance
	said := -chance
	if found {
		off, said = 1-p, p
	}
	if r.said != 0 {
		before := math.Abs(float64(r.said))
		offBefore := -before
		if r.said > 0 {
			offBefore = 1 - before
		}
		r.even -= float32(weight * off * offBefore)
		r.most += float32(weight * min(p, 1-p) * min(before, 1-before))
		r.noise += float32(weight * p * (1 - p) * before * (1 - before))
	}
	r.said = float32(said)
}

// anyRhythm is how even sources are, where little has been seen of them: 0 is at
// random, 1 is a clock, and less than 0 is bursts. It is the standard deviation
// around random.
const anyRhythm = 0.7

// read returns how even the source is by all that is known, how far off that may
// be, and how much of it has been seen and is not just taken to be so: all at 1.
// The weight is that of a poll now.
func (r *rhythm) read(weight float64) (even, off, seen float64) {
	if !(r.most > 0) || !(r.noise > 0) {
		return 0, anyRhythm, 0
	}
	most, noise := float64(r.most)/weight, float64(r.noise)/weight
	chance := noise / (most * most)
	seen = anyRhythm * anyRhythm / (anyRhythm*anyRhythm + chance)
	even = seen * float64(r.even) / float64(r.most)
	return min(1, max(-1, even)), anyRhythm * math.Sqrt(1-seen), seen
}

// bend puts what a rhythm says into a tally of changes at random, of which so many are
// known to have been missed: those are as they are.
func (r *rhythm) bend(t freshet.Tally, known, weight float64) freshet.Tally {
	const few = 8 // polls show no rhythm
	t.Shown = known
	missed := t.Happened - t.Captured - known
	if !(missed > 0) || t.Polls < few {
		return t
	}
	even, off, seen := r.read(weight)
	left := max(0.02, 1-even)
	happened := t.Captured + known + left*missed
	t.Behind *= happened / t.Happened
	t.Happened = happened
	t.Variance *= left
	t.Doubt *= left
	t.Shown, t.Uneven = known+seen*left*missed, seen*off*missed
	return t
}
