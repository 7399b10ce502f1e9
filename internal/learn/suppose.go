package learn

import "freshet/internal/freshet"

// supposes is how likely a rate has to be to be told of.
const supposes = 1e-6

// Suppose tells of the rates that a source may have: how many times the rate that is
// expected, and how likely. The ratios have a mean of 1.
func (l *Learner) Suppose(slot freshet.Slot, tell func(ratio, likely float64)) {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		tell(1, 1)
		return
	}
	thought := l.thought(slot)
	mean := thought.mean(&l.grid)
	for i, likely := range thought {
		if likely > supposes {
			tell(l.grid[i]/mean, likely)
		}
	}
}

// Even returns how evenly a source changes, by what polls of it showed: 0 is at random,
// and 1 as a clock. One that changes in bursts is taken to change at random.
func (l *Learner) Even(slot freshet.Slot) float64 {
	if !l.began || int(slot) >= l.counts.Len() {
		return 0
	}
	even, _, _ := l.counts.At(slot).rhythm.read(l.scale.at(float64(l.open)))
	return max(0, even)
}
