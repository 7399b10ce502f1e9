package lab

import (
	"fmt"
	"slices"

	"freshet/internal/lab/plot"
	"freshet/internal/units"
)

// A CaptureCurve counts changes and captures over time, for a picture. The replay
// has to take its Look.
type CaptureCurve struct {
	*Case
	width int   // instants to a stretch
	found []int // captures, by stretch
	next  []int // by page: the first change that no poll came after
}

// mostStretches is how many points a curve has at most.
const mostStretches = 400

// NewCaptureCurve returns the curve of a replay of a case.
func NewCaptureCurve(c *Case) *CaptureCurve {
	width := max(1, (c.Grid.Instants+mostStretches-1)/mostStretches)
	return &CaptureCurve{
		Case: c, width: width,
		found: make([]int, (c.Grid.Instants+width-1)/width),
		next:  make([]int, len(c.Grid.Pages())),
	}
}

// Look is shown every poll of a replay.
func (c *CaptureCurve) Look(page, instant int, changed bool) {
	if !changed {
		return
	}
	changes, from := c.Grid.Of(page), c.next[page]
	to := from
	for to < len(changes) && int(changes[to]) <= instant {
		to++
	}
	c.next[page] = to
	for after := range to - from {
		if !c.Source(page).Life.In(c.Grid.Instant).Lasts(instant-int(changes[to-1-after]), after) {
			return
		}
		c.found[(instant-1)/c.width]++
	}
}

// Sums returns the curve of captures, and that of the changes themselves.
func (c *CaptureCurve) Sums() (captured, happened [][2]float64) {
	changes := make([]int, len(c.found))
	for page := range c.Grid.Pages() {
		for _, j := range c.Grid.Of(page) {
			changes[(int(j)-1)/c.width]++
		}
	}
	sum := func(counts []int) [][2]float64 {
		points, total := [][2]float64{{0, 0}}, 0
		for i, n := range counts {
			total += n
			end := min((i+1)*c.width, c.Grid.Instants)
			points = append(points, [2]float64{float64(end), float64(total)})
		}
		return points
	}
	return sum(c.found), sum(changes)
}

// Page draws how a replay went.
func (c *CaptureCurve) Page(r Trial) plot.Page {
	captured, happened := c.Sums()
	p := plot.Page{
		Title: fmt.Sprintf("%s on %s: recall %.3f", r.Policy, c.Name(), r.Recall),
		About: fmt.Sprintf("%s of %s, %s to %s; life %s, urgency %s, estimate %s, seed %d.",
			r.Rate(), units.FormatDuration(c.Grid.Instant), r.Start, r.End, r.Life, r.Urgency, r.Estimate, r.Seed),
		Head: []string{"FIGURE", "VALUE"}, Words: 1,
		Rows: [][]string{
			{"changes", FormatNumber(float64(r.Changes))}, {"captured", FormatNumber(float64(r.Captured))}, {"captured at once", FormatNumber(float64(r.ZeroDelay))},
			{"recall", fmt.Sprintf("%.4f", r.Recall)}, {"utility, normalised", fmt.Sprintf("%.4f", r.UtilityNormalized)},
			{"polls", FormatNumber(float64(r.Polls))}, {"mean delay, instants", fmt.Sprintf("%.2f", r.MeanDelay)},
			{"freshness", fmt.Sprintf("%.4f", r.Freshness)}, {"age, seconds", plot.Brief(r.AgeSeconds)},
		},
	}
	p.Charts = append(p.Charts, plot.Chart{
		Title: fmt.Sprintf("%s on %s: captured over time", r.Policy, c.Name()),
		X:     plot.Times(c.Grid.Start, c.Grid.Instant, c.Grid.Instants), Y: plot.Linear("changes", 0, float64(max(1, r.Changes))),
		Lines: []plot.Line{{Name: "happened", Colour: plot.Black, Points: happened}, {Name: "captured", Points: captured}},
	}, DelayChart(r))
	return p
}

// DelayChart draws how late captures were. The latest hundredth of them share
// the last column, or they would leave no room for the others.
func DelayChart(r Trial) plot.Chart {
	const most = 40 // columns
	usual := r.DelayP99 + 1
	width := (usual + most - 1) / most
	columns := make([]plot.Column, (usual+width-1)/width)
	for i := range columns {
		columns[i] = plot.Column{From: float64(i * width), To: float64((i + 1) * width)}
	}
	end := float64(len(columns) * width)
	later := plot.Column{From: end, To: end + float64(width)}
	for delay, n := range r.Delays {
		if i := delay / width; i < len(columns) {
			columns[i].Height += float64(n)
		} else {
			later.Height += float64(n)
		}
	}
	x := plot.Linear("delay, in instants of "+units.FormatDuration(r.instant()), 0, end)
	if later.Height > 0 {
		columns, x.To = append(columns, later), later.To
		x.Ticks = slices.DeleteFunc(x.Ticks, func(k plot.Tick) bool { return k.At >= end })
		x.Ticks = append(x.Ticks, plot.Tick{At: end, Label: FormatNumber(end) + "+"})
	}
	highest := 1.0
	for _, c := range columns {
		highest = max(highest, c.Height)
	}
	return plot.Chart{
		Title: fmt.Sprintf("How late: half within %s, 90%% within %s", Counted(r.DelayP50, "instant"), Counted(r.DelayP90, "instant")),
		X:     x, Y: plot.Linear("captured changes", 0, highest), Columns: columns,
	}
}
