package policy

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A beat is a source that keeps to certain minutes of the hour.
type beat struct {
	slot freshet.Slot
	learn.Rhythm
}

// listen asks which of the sources in [from, to) keep to certain minutes.
func (a *Auto) listen(now time.Time, from, to int) {
	a.learner.Rhythms(now, freshet.Slot(from), a.wait[from:to], func(slot freshet.Slot, r *learn.Rhythm) {
		a.beats = append(a.beats, beat{slot, *r})
	})
}

// keeps returns what a poll is worth of a source that keeps to certain minutes. What is
// there is worth more if it is about to be replaced, and a poll just before a change is
// due is worth less than one just after.
func (a *Auto) keeps(b *beat, instants float64) float64 {
	x := -math.Log1p(-min(surest, b.Chance)) * a.credit[b.slot]
	worth := a.of(int(b.slot), x, a.gaps[b.slot]*instants) * b.Haste
	if b.Later > b.Chance {
		worth *= b.Chance / b.Later
	}
	return worth
}

// surest is how sure it is at most that a source has changed.
const surest = 0.999
