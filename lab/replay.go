package lab

import (
	"context"
	"time"

	"freshet"
	"freshet/sched"
)

// A Score says how a replay went, by one who knows the truth.
type Score struct {
	Polls    int           // made
	Failed   int           // of those
	Changes  int           // that happened between start and end, of the sources in the trace
	Captured int           // of those, seen by a poll before the next one replaced them
	Delay    time.Duration // between the captured changes and the polls that saw them, added up
}

// Missed returns how many changes nobody saw.
func (s Score) Missed() int { return s.Changes - s.Captured }

// Recall returns the share of the changes that was captured; 1 if there were none.
func (s Score) Recall() float64 {
	if s.Changes == 0 {
		return 1
	}
	return float64(s.Captured) / float64(s.Changes)
}

// MeanDelay returns how late the captured changes were seen.
func (s Score) MeanDelay() time.Duration {
	if s.Captured == 0 {
		return 0
	}
	return s.Delay / time.Duration(s.Captured)
}

// Replay lets a policy poll its way through a trace within limits, and scores
// what it captured.
func Replay(ctx context.Context, t *Trace, p freshet.Policy, l sched.Limits) (Score, error) {
	var score Score
	for _, changes := range t.Changes {
		for _, at := range changes {
			if at.After(t.Start) && !at.After(t.End) {
				score.Changes++
			}
		}
	}
	s := sched.New(p, l)
	for _, src := range t.Sources {
		s.Put(t.Start, freshet.Watched{Source: src})
	}
	err := sched.Run(ctx, s, NewWorld(t, func(o freshet.Outcome) { score.count(t, o) }))
	return score, err
}

// count adds an outcome to the score.
func (s *Score) count(t *Trace, o freshet.Outcome) {
	s.Polls++
	switch {
	case o.Result == freshet.Failed:
		s.Failed++
	case o.Result.Captured() && o.Version > 1:
		at := t.Changes[o.Source][o.Version-2]
		if at.After(t.Start) {
			s.Captured++
			s.Delay += o.Began.Sub(at)
		}
	}
}
