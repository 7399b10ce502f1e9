package main

import (
	"fmt"
	"time"
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
		if !c.trace.stakes.Life.Lasts(instant-int(changes[to-1-after]), after) {
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
		about: fmt.Sprintf("%s polls an instant of %s, %s to %s; life %s, urgency %s, estimate %s, seed %d.",
			number(r.Budget), formatDuration(t.grid.Instant), r.Start, r.End, r.Life, r.Urgency, r.Estimate, r.Seed),
		head: []string{"Figure", "Value"},
		rows: [][]string{
			{"changes", number(float64(r.Changes))}, {"captured", number(float64(r.Captured))}, {"captured at once", number(float64(r.ZeroDelay))},
			{"recall", fmt.Sprintf("%.4f", r.Recall)}, {"utility, normalised", fmt.Sprintf("%.4f", r.UtilityNormalized)},
			{"polls", number(float64(r.Polls))}, {"mean delay, instants", fmt.Sprintf("%.2f", r.MeanDelay)},
			{"freshness", fmt.Sprintf("%.4f", r.Freshness)}, {"age, seconds", brief(r.AgeSeconds)},
		},
	}
	p.charts = append(p.charts, chart{
		title: fmt.Sprintf("%s on %s: captured over time", r.Policy, t.name()),
		x:     times(t.grid.Start, t.grid.Instant, t.grid.Instants), y: linear("changes", 0, float64(max(1, r.Changes))),
		lines: []chartLine{{name: "happened", colour: limitColour, points: happened}, {name: "captured", points: captured}},
	}, delayChart(t, r))
	return p
}

// delayChart draws how late captures were.
func delayChart(t *labTrace, r trial) chart {
	const most = 40 // columns
	longest := 1
	for delay, n := range r.Delays {
		if n > 0 {
			longest = delay + 1
		}
	}
	width := (longest + most - 1) / most
	columns := make([]column, (longest+width-1)/width)
	highest := 1.0
	for i := range columns {
		from := i * width
		columns[i] = column{from: float64(from), to: float64(from + width)}
		for _, n := range r.Delays[min(from, len(r.Delays)):min(from+width, len(r.Delays))] {
			columns[i].height += float64(n)
		}
		highest = max(highest, columns[i].height)
	}
	return chart{
		title: fmt.Sprintf("How late: half within %d, 90%% within %d instants", r.DelayP50, r.DelayP90),
		x:     linear("delay, in instants of "+formatDuration(t.grid.Instant), 0, float64(len(columns)*width)),
		y:     linear("captured changes", 0, highest), columns: columns,
	}
}

// timeSteps are the distances at which ticks may stand on an axis of time.
var timeSteps = []time.Duration{
	time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 7 * day, 14 * day, 30 * day, 91 * day, 182 * day, 365 * day, 1826 * day,
}

// times returns an axis of instants with the time at its ticks.
func times(start time.Time, instant time.Duration, instants int) axis {
	a := axis{caption: "time (UTC)", to: float64(instants)}
	span, step := time.Duration(instants)*instant, timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if span/s <= 5 {
			step = s
			break
		}
	}
	form := "2006-01-02"
	switch {
	case step < time.Minute:
		form = "15:04:05"
	case step < day:
		form = "01-02 15:04"
	}
	for at := start.Truncate(step); !at.After(start.Add(span)); at = at.Add(step) {
		if !at.Before(start) {
			a.ticks = append(a.ticks, tick{float64(at.Sub(start)) / float64(instant), at.Format(form)})
		}
	}
	return a
}
