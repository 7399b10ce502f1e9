package learn

// A Reliability says how far chances have come true: of the polls that were said
// to find a change with a chance in each tenth, how many did.
type Reliability [10]struct {
	Polls  float64 // made
	Chance float64 // summed over them
	Found  float64 // a change
}

// add counts a poll.
func (r *Reliability) add(chance float64, found bool) {
	bin := &r[max(0, min(len(r)-1, int(chance*float64(len(r)))))]
	bin.Polls++
	bin.Chance += chance
	if found {
		bin.Found++
	}
}

// Gap returns the mean distance between what was said and what was found, over
// all polls: 0 is perfect.
func (r *Reliability) Gap() float64 {
	gap, polls := 0.0, 0.0
	for _, bin := range r {
		if d := bin.Found - bin.Chance; d > 0 {
			gap += d
		} else {
			gap -= d
		}
		polls += bin.Polls
	}
	if polls == 0 {
		return 0
	}
	return gap / polls
}

// Reliability returns how far chances have come true so far.
func (l *Learner) Reliability() Reliability { return l.reliability }
