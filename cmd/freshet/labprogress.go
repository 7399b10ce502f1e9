package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows on a terminal how far a piece of work has come. Several may
// add to it at once.
type progress struct {
	bar *progressbar.ProgressBar // nil where nobody looks
}

// progress begins to show a piece of work of so many steps.
func (p *program) progress(what string, steps int) *progress {
	if !isTerminal(p.err) || p.env("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions(max(1, steps),
		progressbar.OptionSetWriter(p.err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// add tells of steps that were made. A bar that cannot be drawn is no reason to
// stop the work.
func (g *progress) add(steps int) {
	if g.bar != nil {
		_ = g.bar.Add(steps)
	}
}

// done clears the view.
func (g *progress) done() {
	if g.bar != nil {
		_ = g.bar.Finish()
	}
}

// instants returns what to tell of every instant of a replay, and what to tell
// at its end: the steps are gathered, so that the bar costs nothing.
func (g *progress) instants(all int) (begins func(instant int), ends func()) {
	if g.bar == nil {
		return nil, func() {}
	}
	told, step := 0, max(1, all/200)
	begins = func(instant int) {
		if instant-told >= step {
			g.add(instant - told)
			told = instant
		}
	}
	return begins, func() { g.add(all - told) }
}
