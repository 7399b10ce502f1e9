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

// A ReliabilityBin is the polls that were said to have about the same chance of
// finding a change.
type ReliabilityBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Polls float64 `json:"polls"`
	Said  float64 `json:"said"`  // mean chance
	Found float64 `json:"found"` // share of the polls that found a change
}

// Bins returns what became of the polls, by tenths of the chance that was said.
// Tenths without a poll are left out.
func (r *Reliability) Bins() []ReliabilityBin {
	bins := []ReliabilityBin{}
	for i, bin := range r {
		if bin.Polls == 0 {
			continue
		}
		bins = append(bins, ReliabilityBin{
			From: float64(i) / float64(len(r)), To: float64(i+1) / float64(len(r)),
			Polls: bin.Polls, Said: bin.Chance / bin.Polls, Found: bin.Found / bin.Polls,
		})
	}
	return bins
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
