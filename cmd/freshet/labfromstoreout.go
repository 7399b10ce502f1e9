package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/lab/plot"
	"freshet/internal/units"
)

// printRecorded tells people what was recorded, how the daemon itself fared by
// the same measure, and what a replay of it cannot show.
func printRecorded(p *program, c *lab.Case, f *storeFlags) error {
	var b strings.Builder
	r := c.Recorded
	paint := p.screen()
	say := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", paint.Dim(fmt.Sprintf("%-11s", what)), fmt.Sprintf(format, args...))
	}
	b.WriteString("\n")
	x := r.Score
	say("recorded", "%s (%d first polls, %d failed); %s per instant", counted(r.Polls, "poll"), r.First, r.Failed, short(r.Budget))
	say("changes", "%d recorded, about %.0f happened; %d unseen ones were added", r.Changes, r.Happened, r.Filled)
	say("placed", "%s", placed(r, f.place.Placement))
	say("daemon", "captured %d (%.4f); %.2f instants late on average, freshness %.4f, age %s", x.Captured, x.Recall, x.MeanDelay, x.Freshness, plot.Brief(x.AgeSeconds)+"s")
	if r.Came+r.Left > 0 {
		say("sources", "%d added after the beginning, %d removed before the end", r.Came, r.Left)
	}
	if f.chosen {
		say("instant", "%s, about a tenth of the usual time between two polls of a source, %s", units.FormatDuration(c.Grid.Instant), roughly(r.Gap))
	}
	if r.Reread > 0 {
		say("recipes", "%s changed: what a source did in between is not known", counted(r.Reread, "recipe"))
	}
	if r.Silence > 20*r.Gap && r.Silence > r.To.Sub(r.From)/20 {
		say("silence", "nothing was polled for %s from %s on; a replay polls then too", roughly(r.Silence), r.SilentSince.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\n%s\n", paint.Dim(caveat(f.hidden)))
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// caveat says what a replay of a log cannot show.
func caveat(hidden bool) string {
	const undated = "A\nchange without a date may have happened at any time between two polls (see --place)."
	if hidden {
		return `The recording has only what its own polls found. Changes missed between polls are
added at random, as if each source changed at a steady rate. Where changes come in
bursts there were more of them, or fewer (--hidden=false leaves them out). ` + undated
	}
	return `The recording has only what its own polls found. Changes that no poll saw are not in
it, which favours the policy that made the recording (--hidden adds them). ` + undated
}

// placed says where changes were put.
func placed(r *lab.RecordedCase, place lab.Placement) string {
	where := map[lab.Placement]string{
		lab.Spread: "at random", lab.Early: "at the beginning", lab.Late: "at the end",
	}[place]
	undated := r.Changes - r.Dated
	windows := fmt.Sprintf("half of the windows are within %s, 90%% within %s", roughly(r.Width), roughly(r.WidthP90))
	switch {
	case undated == 0:
		return fmt.Sprintf("all dated by their sources; %s", windows)
	case r.Dated == 0:
		return fmt.Sprintf("%s between two polls; %s", where, windows)
	}
	return fmt.Sprintf("%d dated by their sources (%.0f%%), %d placed %s between two polls; %s",
		r.Dated, 100*float64(r.Dated)/float64(r.Changes), undated, where, windows)
}

// roughly writes a length of time in three digits or so.
func roughly(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	for _, whole := range []time.Duration{day, time.Hour, time.Minute, time.Second} {
		if d >= 10*whole {
			unit = max(unit, whole/10)
			break
		}
	}
	return units.FormatDuration(d.Round(unit))
}

// short writes a number in four digits or so.
func short(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// shortBudget rounds a budget to as many digits as people read, but not to 0.
func shortBudget(x float64) float64 {
	digits := math.Pow(10, 3-math.Floor(math.Log10(x)))
	return math.Round(x*digits) / digits
}

// clash complains of a trace beside what was recorded.
func clash(cmd *cobra.Command, traces []string) error {
	if len(traces) == 0 {
		return nil
	}
	return freshet.WithHint(usagef("%s: use a trace or --from-store, not both", cmd.Name()), "leave out one of them")
}

// runRecorded replays what a daemon recorded.
func (r *labReplay) runRecorded(cmd *cobra.Command, traces []string, policies []string, budgets []float64) error {
	if err := clash(cmd, traces); err != nil {
		return err
	}
	name, err := labflag.One(cmd, "policy", "uniform", policies)
	if err != nil {
		return err
	}
	if len(budgets) > 1 {
		_, err := labflag.One(cmd, "budget", "8", budgets)
		return err
	}
	t, err := r.openRecorded(r.program, cmd, &r.store)
	if err != nil {
		return err
	}
	budget := shortBudget(t.Recorded.Budget)
	if len(budgets) > 0 {
		budget = budgets[0]
	}
	return r.run(cmd.Context(), t, name, budget)
}

// runRecorded compares policies on what a daemon recorded.
func (c *labCompare) runRecorded(cmd *cobra.Command, traces []string) error {
	if err := clash(cmd, traces); err != nil {
		return err
	}
	if len(c.policies.List) == 0 {
		return cli.MissingFlag(cmd, "policy", "uniform,wic")
	}
	t, err := c.openRecorded(c.program, cmd, &c.store)
	if err != nil {
		return err
	}
	if len(c.budgets.List) == 0 {
		c.budgets.List = []float64{shortBudget(t.Recorded.Budget)}
	}
	t.Recorded.Budget = shortBudget(t.Recorded.Budget)
	if err := c.run(cmd.Context(), []*lab.Case{t}); err != nil || c.json || c.csv {
		return err
	}
	return printRecorded(c.program, t, &c.store)
}
