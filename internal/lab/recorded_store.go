package lab

import (
	"context"
	"fmt"
	"iter"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// A StoredSource is a source of which a store has a history.
type StoredSource struct {
	freshet.Source
	Gone bool // it is no longer watched, or not polled for now
}

// A Stored is the history in a store.
type Stored struct {
	*Recorded
	Sources map[freshet.SourceID]freshet.Source // as they were named
	Cut     bool                                // older polls were left out: there were too many
}

// Read reads a log, of these sources alone. It says in the options itself which of them
// are gone. Progress is called with the outcomes that were read.
func (l *Log) Read(ctx context.Context, sources iter.Seq2[StoredSource, error], o LogOptions, progress func(int)) (*Stored, error) {
	kept := &Stored{Sources: map[freshet.SourceID]freshet.Source{}, Cut: l.cut}
	gone := map[freshet.SourceID]bool{}
	for s, err := range sources {
		if err != nil {
			return nil, err
		}
		kept.Sources[s.ID] = s.Source
		if s.Gone {
			gone[s.ID] = true
		}
	}
	o.Gone = func(id freshet.SourceID) bool { return gone[id] }
	var err error
	kept.Recorded, err = FromOutcomes(func(yield func(freshet.Outcome, error) bool) {
		for out, err := range l.Outcomes(ctx, progress) {
			if _, known := kept.Sources[out.Source]; err == nil && !known {
				continue
			}
			if !yield(out, err) {
				return
			}
		}
	}, o)
	return kept, err
}

// OwnCase returns the case in which every source has its own life, urgency and weight, and
// time is cut as Instant says, but into fewer instants than most.
func (s *Stored) OwnCase(name string, place Placement, most int) (*Case, error) {
	return s.Case(Retelling{
		Dir: name, Place: place, Period: s.Period(s.instantFor(int64(most))), Sources: s.Sources, OwnLife: true, OwnUrgency: true,
		Weights: func(*Grid) (Weights, error) { return Weights{}, nil },
	})
}

// Enough complains of a log that nothing can be learned from. It was recorded somewhere,
// such as "in freshet-data".
func (r *Recorded) Enough(where string) error {
	switch {
	case r.Polls == 0:
		return freshet.WithHint(fmt.Errorf("no polls are recorded %s", where), "let freshet serve run for a while, or look elsewhere")
	case r.Gap == 0:
		return freshet.WithHint(fmt.Errorf("no source has been seen twice %s, in %s", where, polled(r.Polls)),
			"let freshet serve run for a while; freshet history log --failed shows failed polls")
	case r.Changes == 0:
		return freshet.WithHint(fmt.Errorf("no watched source has changed %s, in %s", where, polled(r.Polls)),
			"let freshet serve run until something changes")
	}
	return nil
}

func polled(n int) string {
	if n == 1 {
		return "1 poll"
	}
	return fmt.Sprintf("%d polls", n)
}

// Weighed reports whether the utility of a capture is other than that of any other:
// pages differ in weight, or late is worth less.
func (c *Case) Weighed() bool {
	first := c.Source(0)
	for page := range c.Grid.Pages() {
		s := c.Source(page)
		if s.Importance() != first.Importance() || s.Urgency.Kind != objective.UrgencyUniform {
			return true
		}
	}
	return false
}

// PerDay returns how many polls a day a budget of so many an instant is, on a grid.
func (g *Grid) PerDay(budget float64) float64 {
	return budget * float64(24*time.Hour) / float64(g.Instant)
}
