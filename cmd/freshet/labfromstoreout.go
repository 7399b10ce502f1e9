package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/lab"
)

// recordedFigures say what was recorded, and how far it can be trusted.
type recordedFigures struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Polls   int     `json:"polls"`
	Failed  int     `json:"failed"`
	First   int     `json:"first_looks"`
	Reread  int     `json:"recipe_changes"`
	Budget  float64 `json:"polls_an_instant"` // without first looks, within the period
	Sources int     `json:"sources"`
	Came    int     `json:"sources_came"` // after the beginning
	Left    int     `json:"sources_left"` // before the end

	Changes  int     `json:"changes_recorded"`  // at least so many happened
	Happened float64 `json:"changes_estimated"` // about so many did
	Filled   int     `json:"changes_filled"`    // so many were put in that nobody saw
	Dated    int     `json:"changes_dated"`
	Place    string  `json:"place"` // of the others

	Gap         float64 `json:"gap_p50_seconds"`
	Width       float64 `json:"window_p50_seconds"`
	WidthP90    float64 `json:"window_p90_seconds"`
	Silence     float64 `json:"longest_silence_seconds"`
	SilentSince string  `json:"longest_silence_from,omitempty"`

	Score *lab.Score `json:"score,omitempty"` // of the polls that were made
}

// figures returns the figures, without the score.
func (r *recordedTrace) figures() *recordedFigures {
	f := &recordedFigures{
		From: r.From.Format(time.RFC3339), To: r.To.Format(time.RFC3339),
		Polls: r.Polls, Failed: r.Failed, First: r.First, Reread: r.Reread, Budget: r.budget,
		Sources: len(r.History.Pages()), Came: r.came, Left: r.left,
		Changes: r.Changes, Happened: r.Happened, Filled: r.Filled, Dated: r.Dated, Place: r.place.String(),
		Gap: r.Gap.Seconds(), Width: r.Width.Seconds(), WidthP90: r.WidthP90.Seconds(), Silence: r.Silence.Seconds(),
	}
	if r.Silence > 0 {
		f.SilentSince = r.SilentSince.Format(time.RFC3339)
	}
	return f
}

// own is what stands where each source has a life or an urgency of its own.
const own = "own"

// name notes on a trial what the sources say for themselves.
func (r *recordedTrace) name(x *trial) {
	if r.ownLife {
		x.Life = own
	}
	if r.ownUrgency {
		x.Urgency = own
	}
}

// trial returns how the polls fared that were really made, as a trial.
func (r *recordedTrace) trial(t *labTrace) trial {
	x := trial{
		Trace: t.file, Policy: "recorded", Budget: r.budget,
		Life: t.stakes.Life.String(), Urgency: t.stakes.Urgency.String(),
		Start: t.grid.Start.Format(time.RFC3339), End: t.grid.Time(t.grid.Instants).Format(time.RFC3339),
		Instant: t.grid.Instant.Seconds(), Score: r.score, Recorded: r.figures(),
	}
	r.name(&x)
	return x
}

// report tells people what was recorded, how the daemon itself fared by the same
// measure, and what a replay of it cannot show.
func (r *recordedTrace) report(p *program, g *lab.Grid) error {
	var b strings.Builder
	paint := palette(p.colours(p.out))
	say := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", paint.dim(fmt.Sprintf("%-11s", what)), fmt.Sprintf(format, args...))
	}
	b.WriteString("\n")
	x := r.score
	say("recorded", "%s, %d of them first looks, %d failed; %s an instant", counted(r.Polls, "poll"), r.First, r.Failed, short(r.budget))
	say("changes", "at least %d recorded, about %.0f happened; %d were put in that nobody saw", r.Changes, r.Happened, r.Filled)
	say("placed", "%s", r.placed())
	say("daemon", "captured %d (%.4f); %.2f instants late in the mean, freshness %.4f, age %s", x.Captured, x.Recall, x.MeanDelay, x.Freshness, brief(x.AgeSeconds)+"s")
	if r.came+r.left > 0 {
		say("sources", "%d came after the beginning, %d left before the end", r.came, r.left)
	}
	if r.chosen {
		say("instant", "%s, about a tenth of the usual time between two polls of a source, %s", freshet.FormatDuration(g.Instant), roughly(r.Gap))
	}
	if r.Reread > 0 {
		say("recipes", "%s changed: what a source did meanwhile is not known", counted(r.Reread, "recipe"))
	}
	if r.Silence > 20*r.Gap && r.Silence > r.To.Sub(r.From)/20 {
		say("silence", "nothing was polled for %s from %s on; a replay goes on polling", roughly(r.Silence), r.SilentSince.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\n%s\n", paint.dim(r.caveat()))
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// caveat says what a replay of a log cannot show.
func (r *recordedTrace) caveat() string {
	const undated = "A\nchange that its source does not date may have happened anywhere between two polls\n(see --place)."
	if r.hidden {
		return `The log holds only what its own polls found. What else hides between two of them is
put in by chance, as if each source changed at a steady rate: where changes come in
bursts there were more of them, or fewer (--hidden=false leaves them out). ` + undated
	}
	return `The log holds only what its own polls found. Changes that nobody saw do not exist
here, so the policy that made the log is favoured (--hidden puts them in). ` + undated
}

// placed says where changes were put.
func (r *recordedTrace) placed() string {
	where := map[lab.Placement]string{
		lab.Spread: "by chance", lab.Early: "at the beginning", lab.Late: "at the end",
	}[r.place]
	undated := r.Changes - r.Dated
	windows := fmt.Sprintf("half of the windows are within %s, 90%% within %s", roughly(r.Width), roughly(r.WidthP90))
	switch {
	case undated == 0:
		return fmt.Sprintf("all by their sources' own dates; %s", windows)
	case r.Dated == 0:
		return fmt.Sprintf("%s between two polls; %s", where, windows)
	}
	return fmt.Sprintf("%d by their sources' own dates (%.0f%%), %d %s between two polls; %s",
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
	return freshet.FormatDuration(d.Round(unit))
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
	return freshet.WithHint(usagef("%s: a trace and --from-store are two histories", cmd.Name()), "take one of them")
}

// runRecorded replays what a daemon recorded.
func (r *labReplay) runRecorded(cmd *cobra.Command, traces []string, policies policiesFlag, budgets []float64) error {
	if err := clash(cmd, traces); err != nil {
		return err
	}
	name, err := one(cmd, "policy", "uniform", policies)
	if err != nil {
		return err
	}
	if len(budgets) > 1 {
		_, err := one(cmd, "budget", "8", budgets)
		return err
	}
	t, err := r.openRecorded(r.program, cmd, &r.store)
	if err != nil {
		return err
	}
	budget := shortBudget(t.recorded.budget)
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
	if len(c.policies) == 0 {
		return missing(cmd, "policy", "uniform,wic")
	}
	t, err := c.openRecorded(c.program, cmd, &c.store)
	if err != nil {
		return err
	}
	if len(c.budgets.list) == 0 {
		c.budgets.list = []float64{shortBudget(t.recorded.budget)}
	}
	t.recorded.budget = shortBudget(t.recorded.budget)
	if err := c.run(cmd.Context(), []*labTrace{t}); err != nil || c.json || c.csv {
		return err
	}
	return t.recorded.report(c.program, t.grid)
}
