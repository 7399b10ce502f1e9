package lab

import (
	"path/filepath"
	"strings"

	"freshet/internal/freshet"
)

// A Case is what policies are tried on: a trace on a grid, with what
// captures are worth.
type Case struct {
	Trace    string // file, or the data directory that the trace was recorded in
	Grid     *Grid
	Weights  Weights
	Measures Measures
	Weight   float64       // of all changes
	Recorded *RecordedCase // nil if the trace is from a file
}

// NewCase returns the case of a trace.
func NewCase(trace string, g *Grid, k Weights) *Case {
	c := &Case{Trace: trace, Grid: g, Weights: k}
	for page := range g.Pages() {
		c.Weight += c.Source(page).Importance() * float64(len(g.Of(page)))
	}
	return c
}

// Name returns the trace's name for tables and pictures.
func (c *Case) Name() string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.Trace), ".gz"), ".csv")
}

// Source returns the source that stands for a page.
func (c *Case) Source(page int) freshet.Source { return c.Weights.source(c.Grid, page) }
