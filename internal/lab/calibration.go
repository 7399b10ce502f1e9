package lab

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/plot"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A Calibration holds what a learner says during a replay against the truth. It learns
// from the polls itself, beside the policy.
type Calibration struct {
	learner *learn.Learner
	grid    *Grid
	pages   map[freshet.Slot]int // that are watched
	gone    []outlook.Tally      // by page: what was said of it when it was last removed
}

// NewCalibration returns the calibration of a replay in a setting. The replay
// has to take it as its learner.
func NewCalibration(g *Grid, at policy.Setting) *Calibration {
	config := at.Learning()
	config.Memory = 100 * 365 * units.Day // nothing fades: the score counts all of the replay alike
	return &Calibration{grid: g, learner: learn.New(config), pages: map[freshet.Slot]int{}, gone: make([]outlook.Tally, len(g.pages))}
}

// Put implements [freshet.Learner].
func (c *Calibration) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	if page, ok := c.grid.Page(s.ID); ok { // and no index
		c.pages[slot] = page
	}
	c.learner.Put(now, slot, s, since)
}

// Remove implements [freshet.Learner].
func (c *Calibration) Remove(slot freshet.Slot) {
	if page, ok := c.pages[slot]; ok {
		c.gone[page] = c.gone[page].Add(c.learner.Tally(slot))
		delete(c.pages, slot)
	}
	c.learner.Remove(slot)
}

// Observe implements [freshet.Learner].
func (c *Calibration) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	c.learner.Observe(now, slot, o)
}

// tallies returns what the learner says of each page.
func (c *Calibration) tallies() []outlook.Tally {
	list := slices.Clone(c.gone)
	for slot, page := range c.pages {
		list[page] = list[page].Add(c.learner.Tally(slot))
	}
	return list
}

// CalibrationFigures are how honest a learner was.
type CalibrationFigures struct {
	Gap  float64                `json:"gap"`
	Bins []learn.ReliabilityBin `json:"bins"`

	Share     Bounds  `json:"share"`      // of changes that the learner takes to be captured
	TrueShare float64 `json:"true_share"` // that was, of those before the last poll of each page
	Delay     float64 `json:"delay_instants"`
	TrueDelay float64 `json:"true_delay_instants"`

	Ranges RangeFigures `json:"ranges"`
}

// RangeFigures are how well the ranges of the share captured hold page by page.
// Only pages with a change that a poll came after count, all of them alike.
type RangeFigures struct {
	Pages int     `json:"pages"`
	Held  float64 `json:"held"`  // share of the pages whose range holds the truth; nine in ten are meant to
	Width float64 `json:"width"` // of the range, on average
	Off   float64 `json:"off"`   // distance between the mean that is said and the truth, on average
}

// Bounds are a number and between which others it is expected nine times in ten.
type Bounds struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Figures returns how honest the learner was about a replay.
func (c *Calibration) Figures(s Score) *CalibrationFigures {
	var all outlook.Tally
	pages := c.tallies()
	for _, page := range pages {
		all = all.Add(page)
	}
	said := c.learner.Reliability()
	return &CalibrationFigures{
		Gap: said.Gap(), Bins: said.Bins(),
		Share:     Bounds(learn.Share(all)),
		TrueShare: Ratio(float64(s.Captured), float64(s.Settled), 1),
		Delay:     float64(all.MeanDelay()) / float64(c.grid.Instant),
		TrueDelay: s.MeanDelay,
		Ranges:    ranges(pages, s),
	}
}

// ranges holds the share that is said of each page against the truth.
func ranges(pages []outlook.Tally, s Score) (f RangeFigures) {
	for page, truth := range s.ByPage {
		if truth.Settled == 0 {
			continue
		}
		said, was := learn.Share(pages[page]), float64(truth.Captured)/float64(truth.Settled)
		const rounding = 1e-6
		if said.Low-rounding <= was && was <= said.High+rounding {
			f.Held++
		}
		f.Width += said.High - said.Low
		f.Off += math.Abs(said.Mean - was)
		f.Pages++
	}
	if n := float64(f.Pages); n > 0 {
		f.Held, f.Width, f.Off = f.Held/n, f.Width/n, f.Off/n
	}
	return f
}

// Chart draws the reliability diagram.
func (f *CalibrationFigures) Chart(title string) plot.Chart {
	found := plot.Line{Name: "found"}
	most := 1.0
	for _, bin := range f.Bins {
		found.Points = append(found.Points, [2]float64{bin.Said, bin.Found})
		most = max(most, bin.Polls)
	}
	polls := plot.Line{Name: "polls (most = 1)", Dashed: true}
	for _, bin := range f.Bins {
		polls.Points = append(polls.Points, [2]float64{bin.Said, bin.Polls / most})
	}
	return plot.Chart{
		Title: title, X: plot.Linear("chance that was said", 0, 1), Y: plot.Linear("share of polls that found a change", 0, 1),
		Lines: []plot.Line{{Name: "as said", Colour: plot.Black, Dashed: true, Points: [][2]float64{{0, 0}, {1, 1}}}, found, polls},
	}
}
