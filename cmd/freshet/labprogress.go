package main

import "freshet/internal/cli"

// progress begins to show a piece of work of so many steps.
func (p *program) progress(what string, steps int) *cli.Progress {
	return cli.NewProgress(p.err, p.env("TERM"), what, steps)
}

// instantProgress returns functions that count the instants of a replay: one for the
// beginning of each, and one for the end of all. Steps are added in batches, so that
// the bar costs nothing.
func instantProgress(bar *cli.Progress, all int) (begins func(instant int), ends func()) {
	if !bar.Shown() {
		return nil, func() {}
	}
	counted, step := 0, max(1, all/200)
	begins = func(instant int) {
		if instant-counted >= step {
			bar.Add(instant - counted)
			counted = instant
		}
	}
	return begins, func() { bar.Add(all - counted) }
}
