package main

import (
	"fmt"
	"strings"

	"freshet/client"
	"freshet/lab"
	"freshet/learn"
)

const calibrationHelp = `
With --calibration a learner follows the polls, as in the daemon, and what it
says is held against the truth: of the polls that it said would find a change
with a chance of 30%, how many did, and is the share of changes that it takes to
be captured the one that was? Changes that no poll came after are left out, as
they are in the daemon, because they may still be captured.
`

// printCalibration shows to people how honest a learner was.
func printCalibration(p *program, f *lab.CalibrationFigures) error {
	paint := p.screen()
	var b strings.Builder
	b.WriteString("\n")
	if err := calibrationTable(each(f.Bins, func(b learn.ReliabilityBin) client.CalibrationBin { return client.CalibrationBin(b) })).write(&b, paint); err != nil {
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
