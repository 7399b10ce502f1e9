package main

import (
	"fmt"
	"slices"
	"time"

	"freshet"
	"freshet/plot"
)

// A captureCurve counts changes and captures over time, for a picture.
type captureCurve struct {
	trace *labTrace
	width int   // instants to a stretch
	found []int // captures, by stretch
	next  []int // by page: the first change that no poll came after
}

// mostStretches is how many points a curve has at most.
const mostStretches = 400

func newCaptureCurve(t *labTrace) *captureCurve {
	width := max(1, (t.grid.Instants+mostStretches-1)/mostStretches)
	return &captureCurve{
		trace: t, width: width,
		found: make([]int, (t.grid.Instants+width-1)/width),
		next:  make([]int, len(t.grid.Pages())),
	}
}

// look is shown every poll of a replay.
func (c *captureCurve) look(page, instant int, changed bool) {
	if !changed {
		return
	}
	changes, from := c.trace.grid.Of(page), c.next[page]
	to := from
	for to < len(changes) && int(changes[to]) <= instant {
		to++
	}
	c.next[page] = to
	for after := range to - from {
		if !c.trace.life(page).Lasts(instant-int(changes[to-1-after]), after) {
			return
		}
		c.found[(instant-1)/c.width]++
	}
}

// sums returns the curve of captures, and that of the changes themselves.
func (c *captureCurve) sums() (captured, happened [][2]float64) {
	changes := make([]int, len(c.found))
	for page := range c.trace.grid.Pages() {
		for _, j := range c.trace.grid.Of(page) {
			changes[(int(j)-1)/c.width]++
		}
	}
	sum := func(counts []int) [][2]float64 {
		points, total := [][2]float64{{0, 0}}, 0
		for i, n := range counts {
			total += n
			end := min((i+1)*c.width, c.trace.grid.Instants)
			points = append(points, [2]float64{float64(end), float64(total)})
		}
		return points
	}
	return sum(c.found), sum(changes)
}

// replayPicture draws how a replay went.
func replayPicture(t *labTrace, r trial, c *captureCurve) picture {
	captured, happened := c.sums()
	p := picture{
		title: fmt.Sprintf("%s on %s: recall %.3f", r.Policy, t.name(), r.Recall),
		about: fmt.Sprintf("%s of %s, %s to %s; life %s, urgency %s, estimate %s, seed %d.",
			anInstant(r.Budget), freshet.FormatDuration(t.grid.Instant), r.Start, r.End, r.Life, r.Urgency, r.Estimate, r.Seed),
		head: []string{"FIGURE", "VALUE"}, words: 1,
		rows: [][]string{
			{"changes", number(float64(r.Changes))}, {"captured", number(float64(r.Captured))}, {"captured at once", number(float64(r.ZeroDelay))},
			{"recall", fmt.Sprintf("%.4f", r.Recall)}, {"utility, normalised", fmt.Sprintf("%.4f", r.UtilityNormalized)},
			{"polls", number(float64(r.Polls))}, {"mean delay, instants", fmt.Sprintf("%.2f", r.MeanDelay)},
			{"freshness", fmt.Sprintf("%.4f", r.Freshness)}, {"age, seconds", brief(r.AgeSeconds)},
		},
	}
	if t.recorded != nil {
		p.about += " " + t.recorded.caveat()
	}
	p.charts = append(p.charts, plot.Chart{
		Title: fmt.Sprintf("%s on %s: captured over time", r.Policy, t.name()),
		X:     times(t.grid.Start, t.grid.Instant, t.grid.Instants), Y: plot.Linear("changes", 0, float64(max(1, r.Changes))),
		Lines: []plot.Line{{Name: "happened", Colour: plot.Black, Points: happened}, {Name: "captured", Points: captured}},
	}, delayChart(t, r))
	return p
}

// delayChart draws how late captures were. The latest hundredth of them share
// the last column, or they would leave no room for the others.
func delayChart(t *labTrace, r trial) plot.Chart {
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
	x := plot.Linear("delay, in instants of "+freshet.FormatDuration(t.grid.Instant), 0, end)
	if later.Height > 0 {
		columns, x.To = append(columns, later), later.To
		x.Ticks = slices.DeleteFunc(x.Ticks, func(k plot.Tick) bool { return k.At >= end })
		x.Ticks = append(x.Ticks, plot.Tick{At: end, Label: number(end) + "+"})
	}
	highest := 1.0
	for _, c := range columns {
		highest = max(highest, c.Height)
	}
	return plot.Chart{
		Title: fmt.Sprintf("How late: half within %s, 90%% within %s", counted(r.DelayP50, "instant"), counted(r.DelayP90, "instant")),
		X:     x, Y: plot.Linear("captured changes", 0, highest), Columns: columns,
	}
}

// timeSteps are the distances at which ticks may stand on an axis of time.
var timeSteps = []time.Duration{
	time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
	3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day,
}

// monthSteps are the same in months, for what is longer.
var monthSteps = []int{1, 3, 6, 12, 60, 600}

// mostSteps is how many distances between ticks an axis of time has room for.
const mostSteps = 5

// times returns an axis of instants with the time at its ticks.
func times(start time.Time, instant time.Duration, instants int) plot.Axis {
	a := plot.Axis{Caption: "time (UTC)", To: float64(instants)}
	end := start.Add(time.Duration(instants) * instant)
	first, next, form := timeTicks(start, end)
	for at := first; !at.After(end); at = next(at) {
		if !at.Before(start) {
			a.Ticks = append(a.Ticks, plot.Tick{At: float64(at.Sub(start)) / float64(instant), Label: at.Format(form)})
		}
	}
	return a
}

// timeTicks returns where ticks begin, how they go on, and how they are written.
func timeTicks(start, end time.Time) (first time.Time, next func(time.Time) time.Time, form string) {
	for _, step := range timeSteps {
		if end.Sub(start)/step > mostSteps {
			continue
		}
		form = "2006-01-02"
		switch {
		case step < time.Minute:
			form = "15:04:05"
		case step < day:
			form = "01-02 15:04"
		}
		return start.Truncate(step), func(t time.Time) time.Time { return t.Add(step) }, form
	}
	months := monthSteps[len(monthSteps)-1]
	for _, m := range monthSteps {
		if end.Sub(start)/(time.Duration(m)*30*day) <= mostSteps {
			months = m
			break
		}
	}
	january := time.Date(start.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	return january, func(t time.Time) time.Time { return t.AddDate(0, months, 0) }, "2006-01-02"
}
