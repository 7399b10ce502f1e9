package lab

import (
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// Stakes say what captures are worth: how long a change of each page can be
// captured at all, how its worth falls with the delay, and how much the page
// matters. The zero Stakes are overwrite, uniform urgency and equal weights.
type Stakes struct {
	Life    objective.Visibility
	Urgency objective.Urgency

	// Adjust, if set, has the last word on the source that stands for a page:
	// its life, urgency, weight and bounds.
	Adjust func(page int, s *freshet.Source)
}

// source returns the source that stands for a page.
func (k Stakes) source(g *Grid, page int) freshet.Source {
	s := g.source(page)
	s.Life, s.Urgency = k.Life, k.Urgency
	if k.Adjust == nil {
		return s
	}
	adjusted := s // on the heap, where a million that need none do not go
	k.Adjust(page, &adjusted)
	return adjusted
}

// A stake is what captures of one page are worth, in instants of the grid.
type stake struct {
	life    objective.Span
	urgency objective.Decay
	weight  float64
}

// A ledger holds the stake of each page, or one for all.
type ledger []stake

// ledger writes down what the captures of each page are worth.
func (k Stakes) ledger(g *Grid) ledger {
	if k.Adjust == nil {
		return ledger{{life: k.Life.In(g.Instant), urgency: k.Urgency.In(g.Instant), weight: 1}}
	}
	l := make(ledger, len(g.pages))
	for page := range l {
		s := k.source(g, page)
		l[page] = stake{life: s.Life.In(g.Instant), urgency: s.Urgency.In(g.Instant), weight: s.Importance()}
	}
	return l
}

// of returns the stake of a page.
func (l ledger) of(page int) *stake {
	if len(l) == 1 {
		return &l[0]
	}
	return &l[page]
}
