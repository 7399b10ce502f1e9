package lab

import "freshet"

// Stakes say what captures are worth: how long a change of each page can be
// captured at all, how its worth falls with the delay, and how much the page
// matters. The zero Stakes are overwrite, uniform urgency and equal weights.
type Stakes struct {
	Life    freshet.Life
	Urgency freshet.Urgency

	// Adjust, if set, has the last word on the source that stands for a page:
	// its life, urgency, weight and bounds.
	Adjust func(page int, s *freshet.Source)
}

// source returns the source that stands for a page.
func (k Stakes) source(g *Grid, page int) freshet.Source {
	s := g.source(page)
	s.Life, s.Urgency = k.Life, k.Urgency
	if k.Adjust != nil {
		k.Adjust(page, &s)
	}
	return s
}

// A stake is what captures of one page are worth.
type stake struct {
	life    freshet.Life
	urgency freshet.Urgency
	weight  float64
}

// of returns the stake of a page.
func (k Stakes) of(g *Grid, page int) stake {
	if k.Adjust == nil {
		return stake{life: k.Life, urgency: k.Urgency, weight: 1}
	}
	s := freshet.Source{ID: g.pages[page], Life: k.Life, Urgency: k.Urgency}
	k.Adjust(page, &s)
	return stake{life: s.Life, urgency: s.Urgency, weight: s.Importance()}
}
