package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cli/display"
	"freshet/internal/lab"
)

// A numbering is one run of the verb "numbers".
type numbering struct {
	*program
	by, tag, host string
	limit         int
	divergence    string
	relative      bool
	calibration   bool
	seen          span
	json          bool
	verbose       bool
}

const numbersHelp = `Show which share of the changes of sources polls have seen, how many were missed, and
how late the others were seen. --by also shows each tag, host or source, most missed
first.

A poll shows that a page has changed since the last poll, but neither how often nor
when. So these numbers are estimates, with 90% intervals. Data of 30 days ago counts
half. --verbose shows the details, and --calibration how often predicted changes came
true.

--by day shows for each day what polls found, and how much was probably missed: the
last 30 days, or those of --since and --until.

--divergence shows how far the copies of an extracted number were from their pages,
on average over the last 30 days, or those of --since and --until. --relative shows
differences as a share of the larger value.`

func numbersVerb(p *program) *cobra.Command {
	n := numbering{program: p}
	cmd := &cobra.Command{
		Use:   "numbers",
		Short: "Show which share of changes is captured, and what is missed",
		Long:  numbersHelp,
		Example: "  freshet budget numbers\n" +
			"  freshet budget numbers --by tag\n" +
			"  freshet budget numbers --by source --host example.com --limit 20\n" +
			"  freshet budget numbers --by day --since 14d\n" +
			"  freshet budget numbers --divergence price --relative --tag shops\n" +
			"  freshet budget numbers --calibration --json",
		Args: takes(0, 0),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.by, "by", "", "also show each tag, host or source; or show each day")
	flags.StringVar(&n.tag, "tag", "", "only sources with this tag")
	flags.StringVar(&n.host, "host", "", "only sources of this host")
	flags.IntVar(&n.limit, "limit", 100, "show at most this many tags, hosts or sources")
	flags.StringVar(&n.divergence, "divergence", "", "show how far copies of this extracted number were from their pages")
	flags.BoolVar(&n.relative, "relative", false, "with --divergence: as a share of the larger value")
	flags.BoolVar(&n.calibration, "calibration", false, "show how often predicted changes were found")
	flags.StringVar(&n.seen.since, "since", "", "with --by day or --divergence: from this `time` on: a date, a time, or how long ago, such as 14d")
	flags.StringVar(&n.seen.until, "until", "", "with --by day or --divergence: until this `time`; a date is its beginning")
	jsonFlag(cmd, &n.json)
	verboseFlag(cmd, &n.verbose)
	return apiVerb(p, cmd, app.Learning, func(ctx context.Context, c *connection, _ []string) error { return n.run(ctx, c) })
}

// run asks, and shows the answer.
func (n *numbering) run(ctx context.Context, c *connection) error {
	switch {
	case n.divergence != "":
		return n.runDivergence(ctx, c)
	case n.relative:
		return usagef("numbers: --relative goes with --divergence")
	case n.by == "day":
		return n.runDays(ctx, c)
	}
	if n.seen != (span{}) {
		return usagef("numbers: --since and --until go with --by day and --divergence")
	}
	answer, err := c.Numbers(ctx, client.NumbersQuery{By: n.by, Tag: n.tag, Host: n.host, Limit: n.limit})
	if err != nil {
		return err
	}
	if n.json {
		return n.printJSON(answer)
	}
	return n.show(answer)
}

// show prints an answer for people.
func (n *numbering) show(a client.Numbers) error {
	paint := n.screen()
	say := func(format string, args ...any) {
		fmt.Fprintln(n.out, paint.Prose(fmt.Sprintf(format, args...), "  "))
	}
	switch {
	case a.All.Sources > 0:
	case n.tag != "" || n.host != "":
		say("No source that is polled has this tag or host.")
		return nil
	default:
		say("No source is polled. Add one: freshet add URL")
		return nil
	}
	say("%s", paint.Bold(capturedInWords(a.All)))
	for _, line := range []string{missedInWords(a.All), a.All.Wide, sourcesInWords(a.All)} {
		if line != "" {
			say("%s", line)
		}
	}
	n.showDetails(a, say)
	if err := n.showGroups(a, paint); err != nil {
		return err
	}
	return n.showCalibration(a.Calibration, paint)
}

// showDetails prints what only some want to know.
func (n *numbering) showDetails(a client.Numbers, say func(string, ...any)) {
	if !n.verbose {
		return
	}
	if a.All.Polls > 0 {
		say("On average, changes were captured between %s and %s after they happened (nine times in ten).", late(a.All.DelayRange.Low), late(a.All.DelayRange.High))
		say("Copies were up to date %s of the time (%s to %s), and out of date for %s on average (%s to %s).",
			percent(a.All.Freshness), percent(a.All.FreshnessRange.Low), percent(a.All.FreshnessRange.High), late(a.All.Age), late(a.All.AgeRange.Low), late(a.All.AgeRange.High))
		say("A copy lacked %s changes of its page on average (%s to %s).", rough(a.All.Divergence.Mean), rough(a.All.Divergence.Low), rough(a.All.Divergence.High))
		say("Of the polls, %s found a change (ChangeRatio).", percent(a.All.ChangeRatio))
	}
	say("Of the sources that have changed, %s were polled since they were first seen (%s); as the mean of hosts, %s (%s).",
		percent(a.All.Fairness.Mean), bounds(a.All.Fairness), percent(a.FairnessOverHosts.Mean), bounds(a.FairnessOverHosts))
	say("About %s changes have happened since their pages were last polled.", few(a.All.Waiting))
	say("The budget is %s; %s of it is spent.", a.Budget, percent(a.BudgetUsed))
	if a.Price > 0 {
		say("A poll is made if it is worth %s or more to the policy.", rough(a.Price))
	}
	if len(a.Calibration.Bins) > 0 {
		say("The predicted chances of polls were off by %.1f percentage points on average.", 100*a.Calibration.Gap)
	}
}

// capturedInWords says which share was captured, or why that is not known.
func capturedInWords(c client.Captured) string {
	if c.TooEarly != "" {
		return fmt.Sprintf("Too early to say what share of changes is captured: %s.", c.TooEarly)
	}
	if c.Saturated {
		return fmt.Sprintf("At most %s of changes were captured, on average %s after they happened.", percent(c.Share.High), late(c.Delay))
	}
	return fmt.Sprintf("About %s of changes were captured (%s), on average %s after they happened.", percent(c.Share.Mean), bounds(c.Share), late(c.Delay))
}

// missedInWords says what was missed; "" if that is not known.
func missedInWords(c client.Captured) string {
	whole := func(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', 0, 64) }
	switch {
	case c.TooEarly != "":
		return ""
	case c.Missed.High < 0.5:
		return "Polls show no missed change."
	}
	if c.Saturated {
		return fmt.Sprintf("At least %s changes were missed: they came and went between two polls.", whole(c.Missed.Low))
	}
	return fmt.Sprintf("About %s of %s changes were missed (%s to %s): they came and went between two polls.",
		whole(c.Missed.Mean), whole(c.Happened), whole(c.Missed.Low), whole(c.Missed.High))
}

// sourcesInWords says how many sources that is about.
func sourcesInWords(c client.Captured) string {
	words := counted(c.Sources, "source")
	if c.Unseen > 0 {
		words += fmt.Sprintf(", %d not seen yet", c.Unseen)
	}
	return fmt.Sprintf("%s. Polls counted: %s. Changes captured: %s.", words, few(c.Polls), few(c.Captured))
}

// few formats an estimated number of things without false precision.
func few(n float64) string {
	if n < 9.95 {
		return rough(math.Round(10*n) / 10)
	}
	return rough(math.Round(n))
}

func (n *numbering) showGroups(a client.Numbers, paint display.Screen) error {
	if n.by == "" || len(a.Groups) == 0 {
		return nil
	}
	fmt.Fprintln(n.out)
	head := map[string]string{"tag": "TAG", "host": "HOST", "source": "SOURCE"}[n.by]
	t := display.Table{
		Head:  []string{head, "SOURCES", "CAPTURED", "BETWEEN", "MISSED", "LATE", "FRESH", "AGE", "BEHIND", "POLLS", "FOUND", "WAITING"},
		Short: map[string]int{head: 16},
		Drop:  []string{"BEHIND", "FOUND", "AGE", "WAITING", "FRESH", "SOURCES", "POLLS", "LATE", "BETWEEN"},
	}
	for _, g := range a.Groups {
		name := display.Plain(harmless(g.Name))
		if name.Text == "" {
			name = display.Painted("(no tag)", paint.Dim)
		}
		captured, between, missed := percent(g.Share.Mean), bounds(g.Share), few(g.Missed.Mean)
		if g.Saturated {
			captured, between, missed = "≤ "+percent(g.Share.High), "at most", "≥ "+few(g.Missed.Low)
		}
		if g.TooEarly != "" {
			captured, between, missed = "-", "too early", "-"
		}
		fresh, behind, found := percent(g.Freshness), rough(g.Divergence.Mean), percent(g.ChangeRatio)
		if g.Polls == 0 {
			fresh, behind, found = "-", "-", "-"
		}
		t.Add(name, display.Plain(strconv.Itoa(g.Sources)), display.Plain(captured), display.Plain(between), display.Plain(missed),
			display.Plain(late(g.Delay)), display.Plain(fresh), display.Plain(late(g.Age)), display.Plain(behind), display.Plain(few(g.Polls)),
			display.Plain(found), display.Plain(few(g.Waiting)))
	}
	if err := t.Write(n.out, paint); err != nil {
		return err
	}
	if a.LeftOff > 0 {
		fmt.Fprintf(n.out, "%d more missed less; --limit shows them\n", a.LeftOff)
	}
	return nil
}

func (n *numbering) showCalibration(c client.Calibration, paint display.Screen) error {
	if !n.calibration {
		return nil
	}
	fmt.Fprintln(n.out)
	if len(c.Bins) == 0 {
		fmt.Fprintln(n.out, "No prediction has been checked by a poll yet.")
		return nil
	}
	return calibrationTable(c.Bins).Write(n.out, paint)
}

// calibrationTable compares predicted with observed changes.
func calibrationTable(bins []client.CalibrationBin) *display.Table {
	t := &display.Table{Head: []string{"SAID", "POLLS", "SHOULD FIND", "FOUND", "OFF BY"}}
	for _, bin := range bins {
		t.Add(display.Plain(fmt.Sprintf("%.0f-%.0f%%", 100*bin.From, 100*bin.To)), display.Plain(lab.FormatNumber(bin.Polls)),
			display.Plain(fmt.Sprintf("%.1f%%", 100*bin.Said)), display.Plain(fmt.Sprintf("%.1f%%", 100*bin.Found)),
			display.Plain(fmt.Sprintf("%+.1f", 100*(bin.Found-bin.Said))))
	}
	return t
}

// runDays asks for days, and shows them.
func (n *numbering) runDays(ctx context.Context, c *connection) error {
	if n.calibration {
		return usagef("numbers: --calibration is not known by day")
	}
	in, err := n.seen.read(n.program)
	if err != nil {
		return err
	}
	q := client.DaysQuery{In: in, Tag: n.tag, Host: n.host}
	if zone := time.Local.String(); zone != "Local" { // which has no name that a server would know
		q.Zone = zone
	}
	days, err := c.NumbersByDay(ctx, q)
	if err != nil {
		return err
	}
	if n.json {
		return n.printJSON(days)
	}
	t := display.Table{
		Head: []string{"DAY", "REQUESTS", "POLLS", "FAILED", "CHANGES", "CAPTURED", "MISSED", "BETWEEN"},
		Drop: []string{"REQUESTS", "FAILED", "BETWEEN"},
	}
	for _, d := range days.Items {
		t.Add(display.Plain(d.Date), display.Plain(strconv.Itoa(d.Requests)), display.Plain(strconv.Itoa(d.Polls)), display.Plain(strconv.Itoa(d.Failed)),
			display.Plain(strconv.Itoa(d.Changes)), display.Plain(few(d.Captured)), display.Plain(few(d.Missed.Mean)), display.Plain(few(d.Missed.Low)+" to "+few(d.Missed.High)))
	}
	if err := t.Write(n.out, n.screen()); err != nil {
		return err
	}
	if days.From != nil {
		fmt.Fprintf(n.out, "There are too many polls to count: nothing before %s is counted\n", days.From.Local().Format(time.DateTime))
	}
	fmt.Fprintf(n.out, "Days are those of %s. CHANGES were found, CAPTURED and MISSED are estimated.\n", days.Zone)
	return nil
}
