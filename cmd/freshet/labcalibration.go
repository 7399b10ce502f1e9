package main

import (
	"fmt"
	"strings"

	"freshet"
	"freshet/client"
	"freshet/lab"
	"freshet/learn"
	"freshet/plot"
	"freshet/web"
)

const calibrationHelp = `
With --calibration a learner follows the polls, as in the daemon, and what it
says is held against the truth: of the polls that it said would find a change
with a chance of 30%, how many did, and is the share of changes that it takes to
be captured the one that was? Changes that no poll came after are left out, as
they are in the daemon, because they may still be captured.
`

// A calibration holds what a learner says during a replay against the truth.
type calibration struct {
	trace   *labTrace
	learner *learn.Learner
	polled  []int // by page: the instant of its last poll
}

func newCalibration(t *labTrace, budget float64) *calibration {
	const nothingFades = 100 * 365 * day // the score counts all of the replay alike
	return &calibration{
		trace:   t,
		learner: learn.New(learn.Config{Start: t.grid.Start, Tick: t.grid.Instant, Polls: budget, Memory: nothingFades}),
		polled:  make([]int, len(t.grid.Pages())),
	}
}

// look is shown every poll of a replay.
func (c *calibration) look(page, instant int, _ bool) { c.polled[page] = instant }

// calibrationFigures are how honest a learner was.
type calibrationFigures struct {
	client.Calibration
	Share     client.Estimate `json:"share"`      // of changes that the learner takes to be captured
	TrueShare float64         `json:"true_share"` // that was, of those before the last poll of each page
	Delay     float64         `json:"delay_instants"`
	TrueDelay float64         `json:"true_delay_instants"`
}

// figures returns how honest the learner was about a replay.
func (c *calibration) figures(s lab.Score) *calibrationFigures {
	var all freshet.Tally
	settled := 0
	for page, last := range c.polled {
		all = all.Add(c.learner.Tally(freshet.Slot(page)))
		for _, at := range c.trace.grid.Of(page) {
			if int(at) <= last {
				settled++
			}
		}
	}
	said := learn.Share(all)
	return &calibrationFigures{
		Calibration: web.CalibrationOf(c.learner.Reliability()),
		Share:       client.Estimate{Mean: said.Mean, Low: said.Low, High: said.High},
		TrueShare:   share(float64(s.Captured), float64(settled)),
		Delay:       float64(all.MeanDelay()) / float64(c.trace.grid.Instant),
		TrueDelay:   s.MeanDelay,
	}
}

// report shows the figures to people.
func (f *calibrationFigures) report(p *program) error {
	paint := palette(p.colours(p.out))
	var b strings.Builder
	b.WriteString("\n")
	if err := calibrationTable(f.Calibration).write(&b, paint); err != nil {
		return err
	}
	say := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", paint.dim(fmt.Sprintf("%-11s", what)), fmt.Sprintf(format, args...))
	}
	b.WriteString("\n")
	say("off by", "%.1f points on average over all polls", 100*f.Gap)
	say("captured", "%s of changes, it was said (between %s and %s); it was %s",
		percent(f.Share.Mean), percent(f.Share.Low), percent(f.Share.High), percent(f.TrueShare))
	say("late", "%.2f instants on average, it was said; it was %.2f", f.Delay, f.TrueDelay)
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// chart draws the reliability diagram.
func (f *calibrationFigures) chart(title string) plot.Chart {
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

// draw writes the reliability diagram into a file.
func (f *calibrationFigures) draw(file, title string) error {
	return (&pictureFlags{svg: file}).write(picture{title: title, charts: []interface{ SVG() string }{f.chart(title)}})
}
