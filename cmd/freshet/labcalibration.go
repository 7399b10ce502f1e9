package main

import (
	"fmt"
	"strings"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/lab"
	"freshet/internal/learn"
)

const calibrationHelp = `
--calibration compares Freshet's own predictions with the truth. Of the polls that
it gave a 30% chance of finding a change, how many found one? And is its estimate
of the share of changes captured right? Changes after the last poll of a page are
left out, because they could still be captured.
`

// printCalibration shows to people how honest a learner was.
func printCalibration(p *program, f *lab.CalibrationFigures) error {
	paint := p.screen()
	var b strings.Builder
	b.WriteString("\n")
	if err := calibrationTable(each(f.Bins, func(b learn.ReliabilityBin) client.CalibrationBin { return client.CalibrationBin(b) })).Write(&b, paint); err != nil {
		return err
	}
	say := func(what, format string, args ...any) {
		const indent = 11
		lines := display.Wrap(fmt.Sprintf(format, args...), max(0, paint.Width-indent), "")
		fmt.Fprintf(&b, "%s%s\n", paint.Dim(display.Pad(what, indent)), strings.Join(lines, "\n"+strings.Repeat(" ", indent)))
	}
	b.WriteString("\n")
	say("off by", "%.1f percentage points on average over all polls", 100*f.Gap)
	say("captured", "estimated %s of changes (%s to %s); in truth %s",
		percent(f.Share.Mean), percent(f.Share.Low), percent(f.Share.High), percent(f.TrueShare))
	if n := f.Ranges; n.Pages > 0 {
		say("by page", "the range held the truth for %s of %s; it was %.2f wide and its middle %.2f off on average",
			percent(n.Held), counted(n.Pages, "page"), n.Width, n.Off)
	}
	say("late", "estimated %.2f instants on average; in truth %.2f", f.Delay, f.TrueDelay)
	_, err := fmt.Fprint(p.out, b.String())
	return err
}
