package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

// Weights say what captures are worth: how long a change of each page can be
// captured at all, how its worth falls with the delay, and how much the page
// matters. The zero Weights are overwrite, uniform urgency and equal weights.
type Weights struct {
	Life    objective.Visibility
	Urgency objective.Urgency

	// Adjust, if set, has the last word on the source that stands for a page:
	// its life, urgency, weight and bounds.
	Adjust func(page int, s *freshet.Source)
}

// source returns the source that stands for a page.
func (k Weights) source(g *Grid, page int) freshet.Source {
	s := g.source(page)
	s.Life, s.Urgency = k.Life, k.Urgency
	if k.Adjust == nil {
		return s
	}
	adjusted := s // on the heap, where a million that need none do not go
	k.Adjust(page, &adjusted)
	return adjusted
}

// A pageWeight is what captures of one page are worth, in instants of the grid.
type pageWeight struct {
	life    objective.Span
	urgency objective.Decay
	weight  float64
}

// pageWeights hold the weight of each page, or one for all.
type pageWeights []pageWeight

// onPages returns what the captures of each page are worth.
func (k Weights) onPages(g *Grid) pageWeights {
	if k.Adjust == nil {
		return pageWeights{{life: k.Life.In(g.Instant), urgency: k.Urgency.In(g.Instant), weight: 1}}
	}
	l := make(pageWeights, len(g.pages))
	for page := range l {
		s := k.source(g, page)
		l[page] = pageWeight{life: s.Life.In(g.Instant), urgency: s.Urgency.In(g.Instant), weight: s.Importance()}
	}
	return l
}

// of returns the weight of a page.
func (l pageWeights) of(page int) *pageWeight {
	if len(l) == 1 {
		return &l[0]
	}
	return &l[page]
}

// ownWeights returns what captures are worth to those who named the sources. What
// is not to be their own is as k says.
func ownWeights(g *Grid, known map[freshet.SourceID]freshet.Source, k Weights, ownLife, ownUrgency bool) Weights {
	weigh := k.Adjust // by a file of weights, if there is one
	sources := make([]freshet.Source, len(g.Pages()))
	for page, id := range g.Pages() {
		s := known[id]
		s.ID, s.Paused = id, false
		if !ownLife {
			s.Life = k.Life
		}
		if !ownUrgency {
			s.Urgency = k.Urgency
		}
		if weigh != nil {
			weigh(page, &s)
		}
		sources[page] = s
	}
	k.Adjust = func(page int, s *freshet.Source) { *s = sources[page] }
	return k
}

// ReadWeights reads the importance of pages, which are 1 unless the file says
// otherwise. Pages that the trace does not have are left out.
func ReadWeights(file string, g *Grid) ([]float64, error) {
	weights := make([]float64, len(g.Pages()))
	for i := range weights {
		weights[i] = 1
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read weights: %w", err)
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.ReuseRecord, rows.FieldsPerRecord = true, 2
	for first := true; ; first = false {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF) && !first:
			return weights, nil
		case err != nil:
			return nil, freshet.WithHint(fmt.Errorf("read weights from %s: %w", file, err), `write a line "page,weight", and one for each page after it`)
		case first:
			if row[0] != "page" || row[1] != "weight" {
				return nil, invalid.Input(fmt.Errorf(`read weights from %s: line 1, column 1: the header has to be "page,weight"`, file))
			}
			continue
		}
		w, err := strconv.ParseFloat(row[1], 64)
		if err != nil || !(w > 0) || w > 1e9 {
			line, column := rows.FieldPos(1)
			return nil, invalid.Input(fmt.Errorf("read weights from %s: line %d, column %d: the weight %q is not a number above 0", file, line, column, row[1]))
		}
		if page, ok := g.Page(freshet.SourceID(row[0])); ok {
			weights[page] = w
		}
	}
}
