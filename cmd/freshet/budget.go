package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cli/display"
	"freshet/internal/lab/plot"
	"freshet/internal/learn/forecast"
	"freshet/internal/units"
)

// A budgeting is one run of the verb "budget".
type budgeting struct {
	*program
	share  string
	delay  lengthFlag
	drop   []string
	eaters int
	levels bool
	plot   string
	json   bool

	verbose bool
}

const budgetHelp = `Show what your budget captures and how to improve it: which pages use most of it,
what share of changes is captured, and what a larger or smaller budget would
capture. The shaded band in the chart is the uncertainty.

--share, --delay or both show what a goal costs: to capture that share, to be that
late on average, or to capture that share within that time. --eaters lists the
sources that use most. --drop says what removing sources would free. --levels
lists the service levels, whether each is kept, and if not, why.

All numbers are estimates from polls; where there is too little data, the output says so.
--verbose shows the details. docs/explanation/budget.md explains the method.`

func budgetVerb(p *program) *cobra.Command {
	b := budgeting{program: p}
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what the budget captures, and what another would",
		Long:  budgetHelp,
		Example: "  freshet budget\n" +
			"  freshet budget --share 95%\n" +
			"  freshet budget --share 90% --delay 10m\n" +
			"  freshet budget --eaters 20 --drop tag:archive --drop host:slow.example\n" +
			"  freshet budget --levels\n" +
			"  freshet budget --plot budget.svg",
		Args: takes(0, 0),
	}
	flags := cmd.Flags()
	flags.StringVar(&b.share, "share", "", "show what it costs to capture this share, such as 95%")
	flags.Var(&b.delay, "delay", "show what this mean delay costs; with --share: that share within this time")
	flags.StringArrayVar(&b.drop, "drop", nil, "show what removing this would free: an id, tag:T or host:H; can be repeated")
	flags.IntVar(&b.eaters, "eaters", 0, "list this many sources that use most of the budget")
	flags.BoolVar(&b.levels, "levels", false, "list the service levels, and why one is not kept")
	flags.StringVar(&b.plot, "plot", "", "draw the curve into this SVG file")
	jsonFlag(cmd, &b.json)
	verboseFlag(cmd, &b.verbose)
	return apiVerb(p, cmd, app.Learning, func(ctx context.Context, c *connection, _ []string) error { return b.run(ctx, c) })
}

// run asks, and shows the answer.
func (b *budgeting) run(ctx context.Context, c *connection) error {
	eaters := max(0, b.eaters)
	if !b.json {
		eaters = max(eaters, manyEaters)
	}
	answer, err := c.Budget(ctx, client.BudgetQuery{
		Share: b.share, Delay: time.Duration(b.delay), Drop: b.drop, Eaters: eaters, Levels: b.levels, Points: sketchWidth,
	})
	if err != nil {
		return err
	}
	if b.plot != "" {
		if err := (&pictureFlags{svg: b.plot}).write(budgetPicture(answer)); err != nil {
			return err
		}
	}
	if b.json {
		return b.printJSON(answer)
	}
	return b.show(answer)
}

// show prints an answer for people: what to do, what is captured, the chart, and
// what was asked for.
func (b *budgeting) show(a client.Budget) error {
	paint := b.screen()
	say := func(format string, args ...any) { b.say(paint, format, args...) }
	switch {
	case a.Sources == 0:
		say("No source is polled. Add one: freshet add URL")
		return nil
	case a.TooEarly != "":
		say("%s", paint.Bold("Too early to say what this budget brings: "+a.TooEarly+"."))
		if a.Early > 0 {
			looks := time.Duration(float64(2*a.Early) / a.Now.PollsPerDay * float64(day))
			say("At %s every source can be polled twice in %s.", a.Budget, aboutTime(looks))
		}
	default:
		for i, advice := range budgetAdvice(a) {
			if i == 0 {
				advice = paint.Bold(advice)
			}
			say("%s", advice)
		}
		words := pointInWords(a.Now)
		if a.Saturated {
			words = fmt.Sprintf("At most %s of changes are captured, on average %s after they happen.", percent(a.Now.Share.High), late(a.Now.Delay))
		}
		say("Forecast: %s", strings.ToLower(words[:1])+words[1:])
		if a.Wide != "" {
			say("%s", a.Wide)
		}
		b.showDetails(a, say)
		fmt.Fprintln(b.out)
		sketch(b.out, paint.Palette, a)
		if g := a.Goal; g != nil {
			say("\n%s", goalInWords(*g, a))
		}
		if d := a.Drop; d != nil {
			b.showDrop(*d, say)
		}
	}
	if err := b.showEaters(a, paint); err != nil {
		return err
	}
	return b.showLevels(a.Levels, paint, say)
}

// showDetails prints what only some want to know.
func (b *budgeting) showDetails(a client.Budget, say func(string, ...any)) {
	if !b.verbose {
		return
	}
	say("%s change about %s times a day. The budget is %s polls a day, of which about %s are used.",
		counted(a.Sources, "source"), rough(a.Now.ChangesPerDay), rough(a.Now.PollsPerDay), rough(a.Now.SpentPerDay))
	for _, w := range a.Now.Within {
		if d := time.Duration(w.Time); d == 10*time.Minute || d == time.Hour {
			say("Captured within %s: %s of changes.", units.FormatDuration(d), percent(w.Share))
		}
	}
	say("One more poll a minute would add %.2f percentage points.", 100*a.OneMore)
	if s := a.SoFar; s != nil {
		say("Measured of late: %s (%s). The chart goes through this at the polls that were made then.", percent(s.Share.Mean), bounds(s.Share))
	}
}

// say prints a sentence, with an empty line before it if it begins with one.
func (b *budgeting) say(s display.Screen, format string, args ...any) {
	text, apart := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if apart {
		fmt.Fprintln(b.out)
	}
	fmt.Fprintln(b.out, s.Prose(text, "  "))
}

// pointInWords describes what a budget captures.
func pointInWords(p client.BudgetPoint) string {
	return fmt.Sprintf("About %s of changes are captured (%s), on average %s after they happen.", percent(p.Share.Mean), bounds(p.Share), late(p.Delay))
}

// goalInWords says what a goal costs.
func goalInWords(g client.BudgetGoal, a client.Budget) string {
	delay := units.FormatDuration(time.Duration(g.Delay))
	want := "To capture " + percent(g.Share) + " of changes"
	switch {
	case g.Share == 0:
		want = "To be " + delay + " late on average"
	case g.Delay > 0:
		want += " within " + delay
	}
	if !g.Reachable {
		return fmt.Sprintf("%s is out of reach. With %s: %s Limits such as source_gap, min_gap and hosts.delay hold sources back, and auto leaves pages alone while a change is unlikely.",
			want, asBudget(g.At.PollsPerDay), pointInWords(g.At))
	}
	return fmt.Sprintf("%s takes a budget of %s, %s times the present one.", want, asBudget(g.At.PollsPerDay), rough(g.At.PollsPerDay/a.Now.PollsPerDay))
}

func (b *budgeting) showDrop(d client.Drop, say func(string, ...any)) {
	if d.Sources == 0 {
		say("\nNo source is named by %s.", strings.Join(b.drop, ", "))
		return
	}
	say("\nWithout %s there would be %s more polls a day for the others, and %s fewer changes captured a day.",
		counted(d.Sources, "source"), rough(d.FreedPerDay), rough(d.LostPerDay))
	say("The others now:  %s", pointInWords(d.Before))
	say("The others then: %s", pointInWords(d.After))
}

func (b *budgeting) showEaters(a client.Budget, paint display.Screen) error {
	if b.eaters <= 0 || len(a.Eaters) == 0 {
		return nil
	}
	fmt.Fprintln(b.out)
	t := display.Table{
		Head:  []string{"ID", "POLLS/DAY", "OF BUDGET", "EVERY", "CHANGES/DAY", "CAPTURED/DAY", "SHARE", "LATE"},
		Short: map[string]int{"ID": 10},
		Drop:  []string{"LATE", "POLLS/DAY", "CAPTURED/DAY"},
	}
	for _, e := range a.Eaters[:min(b.eaters, len(a.Eaters))] {
		changes, captured, share, delay := ratePerDay(e.Rate), rough(e.CapturedPerDay), percent(e.Share.Mean), late(e.Delay)
		if e.Rate.Known != "estimated" {
			captured, share, delay = "-", "-", "-"
		}
		t.Add(display.Plain(string(e.ID)), display.Plain(rough(e.PollsPerDay)), display.Plain(percent(e.PollsPerDay/a.Now.PollsPerDay)), display.Plain(late(e.Gap)),
			display.Plain(changes), display.Plain(captured), display.Plain(share), display.Plain(delay))
	}
	return t.Write(b.out, paint)
}

// ratePerDay writes how often a source changes in a column of changes a day.
func ratePerDay(r client.Rate) string {
	switch r.Known {
	case "estimated":
		return rough(r.Mean)
	case "at_least":
		return "≥" + rough(r.Low)
	case "at_most":
		return "≤" + rough(r.High)
	}
	return "unknown"
}

// percent writes a share for people.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 0.1:
		return "<0.1%"
	case p > 99.9 && p < 100:
		return ">99.9%"
	case p < 10 || p > 90:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + "%"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + "%"
	}
}

// bounds writes the range of a share: by whole percents, since it is no finer.
func bounds(share client.Estimate) string {
	whole := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + "%" }
	return whole(share.Low) + " to " + whole(share.High)
}

// rough writes a number for people, with three digits that count.
func rough(x float64) string {
	if x <= 0 || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(x))))
	scale := math.Pow(10, 2-math.Floor(math.Log10(x)))
	text := strconv.FormatFloat(math.Round(x*scale)/scale, 'f', min(digits, 6), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// asBudget writes polls a day as the setting of the budget.
func asBudget(perDay float64) string {
	switch {
	case perDay >= 10*86400:
		return rough(perDay/86400) + "/s"
	case perDay >= 1440:
		return rough(perDay/1440) + "/m"
	case perDay >= 24:
		return rough(perDay/24) + "/h"
	}
	return rough(perDay) + "/d"
}

// late writes a length of time for people, in two units at most.
func late(d client.Duration) string {
	t := time.Duration(d)
	switch {
	case t == 0:
		return "-"
	case t < time.Minute:
		return t.Round(100 * time.Millisecond).String()
	case t < time.Hour:
		return units.FormatDuration(t.Round(time.Second))
	case t < 2*day:
		return units.FormatDuration(t.Round(time.Minute))
	}
	return rough(float64(t)/float64(day)) + "d"
}

// holds says why a level is not kept, and what helps.
var holds = map[forecast.Obstacle]string{
	forecast.NoObstacle:  "",
	forecast.ByBudget:    "all levels together need more than half of the budget",
	forecast.ByHost:      "its host may not be polled so often (hosts.delay)",
	forecast.ByMinGap:    "cannot be kept: its min_gap is too long",
	forecast.BySourceGap: "cannot be kept: source_gap is too long; set a shorter min_gap for it",
	forecast.ByRate:      "cannot be kept: it changes too often",
	forecast.ByDoubt:     "too early to say: it may change too often",
	forecast.ByWorth:     "other pages are polled first; set its max_gap",
}

// showLevels prints how things stand with the service levels.
func (b *budgeting) showLevels(l *client.Levels, paint display.Screen, say func(string, ...any)) error {
	if l == nil {
		if b.levels {
			say("\nNo source has a service level. Set one: freshet edit SOURCE --level '90%% within 10m'")
		}
		return nil
	}
	say("\n%s", levelsInWords(*l, paint))
	if short := l.NeedPerDay > l.ClaimPerDay; short {
		say("The levels that can be kept need %s polls a day. Levels may use half of the budget, %s polls a day, so all of them are kept worse. A budget of %s would do.",
			rough(l.NeedPerDay), rough(l.ClaimPerDay), asBudget(l.NeedPerDay/l.ClaimPerDay*l.BudgetPerDay))
	} else if l.Set > l.Impossible+l.Unknown {
		which := "them"
		if l.Impossible+l.Unknown > 0 {
			which = "the others"
		}
		say("Keeping %s takes %s of %s polls a day.", which, rough(l.NeedPerDay), rough(l.BudgetPerDay))
	}
	if len(l.Items) == 0 {
		if l.Unmet > 0 {
			say("Which, and why: freshet budget --levels")
		}
		return nil
	}
	t := display.Table{
		Head:  []string{"ID", "LEVEL", "IN TIME", "EVERY", "NEEDS EVERY", "NEXT POLL", "POLLS/DAY", "WHY NOT"},
		Short: map[string]int{"ID": 10},
		Drop:  []string{"POLLS/DAY", "EVERY", "NEXT POLL"},
	}
	for _, i := range l.Items {
		share, next, needs := display.Painted(percent(i.Share), paint.Green), "-", rough(i.NeedPerDay)
		if !i.Kept {
			share.Paint = paint.Red
		}
		if i.NeedGap == 0 {
			needs = "-"
		}
		switch {
		case i.Next.IsZero():
		case i.Next.Sub(b.now()) < time.Second:
			next = "now"
		default:
			next = "in " + roughDuration(i.Next.Sub(b.now()))
		}
		t.Add(display.Plain(string(i.ID)), display.Plain(i.Level), share, display.Plain(late(i.Gap)), display.Plain(late(i.NeedGap)), display.Plain(next), display.Plain(needs), display.Plain(holds[forecast.Obstacle(i.Hold)]))
	}
	return t.Write(b.out, paint)
}

// levelsInWords says how many levels are kept.
func levelsInWords(l client.Levels, paint display.Screen) string {
	kept := l.Set - l.Unmet
	words := fmt.Sprintf("Service levels: %d of %d are kept.", kept, l.Set)
	if l.Unknown > 0 {
		words += fmt.Sprintf(" Of %d it is too early to say.", l.Unknown)
	}
	if l.Unmet == 0 {
		return "Service levels: " + paint.Green(fmt.Sprintf("%d of %d are kept.", kept, l.Set))
	}
	if l.Impossible > 0 {
		words += fmt.Sprintf(" %d cannot be kept, whatever the budget.", l.Impossible)
	}
	return paint.Red(words)
}

// The measures of a curve in a terminal, in characters. There is a column for
// each point of the curve, and the middle one is the present budget.
const (
	sketchWidth  = 61
	sketchHeight = 13
)

// sketch draws the share captured against the budget, with its band of doubt.
func sketch(w io.Writer, paint display.Palette, a client.Budget) {
	for row := range sketchHeight {
		share := 1 - float64(row)/(sketchHeight-1)
		half := 0.5 / (sketchHeight - 1)
		label := ""
		if row%3 == 0 {
			label = fmt.Sprintf("%3.0f%%", 100*share)
		}
		fmt.Fprintf(w, "%s %s\n", paint.Dim(fmt.Sprintf("%5s ┤", label)), strings.TrimRight(sketchRow(paint, a, share, half), " "))
	}
	axis := []rune(strings.Repeat("─", sketchWidth))
	axis[sketchWidth/2] = '┴'
	fmt.Fprintf(w, "%s\n", paint.Dim("      └─"+string(axis)))
	first, now, last := asBudget(a.Curve[0].PollsPerDay), "now: "+asBudget(a.Now.PollsPerDay), asBudget(a.Curve[len(a.Curve)-1].PollsPerDay)
	left := max(1, sketchWidth/2-len(first)-len(now)/2)
	right := max(1, sketchWidth-len(first)-left-len(now)-len(last))
	fmt.Fprintf(w, "        %s%s%s%s%s\n", first, strings.Repeat(" ", left), now, strings.Repeat(" ", right), last)
}

// sketchRow returns the row of shares within half a row of one.
func sketchRow(paint display.Palette, a client.Budget, share, half float64) string {
	var row strings.Builder
	for column, p := range a.Curve {
		middle := column == len(a.Curve)/2
		switch on := math.Abs(p.Share.Mean-share) <= half; {
		case on && middle:
			row.WriteString(paint.Yellow("◆"))
		case on:
			row.WriteString(paint.Cyan("•"))
		case p.Share.Low-half <= share && share <= p.Share.High+half:
			row.WriteString(paint.Dim("░"))
		case middle:
			row.WriteString(paint.Dim("╎"))
		default:
			row.WriteByte(' ')
		}
	}
	return row.String()
}

// budgetPicture returns the curve as a chart.
func budgetPicture(a client.Budget) plot.Page {
	x := plot.Axis{Caption: "polls a day", Log: true, From: a.Curve[0].PollsPerDay, To: a.Curve[len(a.Curve)-1].PollsPerDay}
	for power := math.Ceil(math.Log10(x.From)); math.Pow(10, power) <= x.To; power++ {
		x.Ticks = append(x.Ticks, plot.Tick{At: math.Pow(10, power), Label: fmt.Sprintf("%.0f", math.Pow(10, power))})
	}
	line := func(name string, dashed bool, of func(client.BudgetPoint) float64) plot.Line {
		l := plot.Line{Name: name, Dashed: dashed}
		for _, p := range a.Curve {
			l.Points = append(l.Points, [2]float64{p.PollsPerDay, of(p)})
		}
		return l
	}
	lines := []plot.Line{
		line("captured", false, func(p client.BudgetPoint) float64 { return p.Share.Mean }),
		line("captured, at most", true, func(p client.BudgetPoint) float64 { return p.Share.High }),
		line("captured, at least", true, func(p client.BudgetPoint) float64 { return p.Share.Low }),
		line("within 1h", false, func(p client.BudgetPoint) float64 { return p.Within[2].Share }),
		line("within 10m", false, func(p client.BudgetPoint) float64 { return p.Within[1].Share }),
		line("up to date", false, func(p client.BudgetPoint) float64 { return p.Freshness }),
		{Name: "now, " + a.Budget, Colour: plot.Black, Dashed: true, Points: [][2]float64{{a.Now.PollsPerDay, 0}, {a.Now.PollsPerDay, 1}}},
	}
	chart := plot.Chart{Title: "What a budget brings", X: x, Y: plot.Linear("share", 0, 1), Lines: lines}
	return plot.Page{Title: chart.Title, Charts: []interface{ SVG() string }{chart}}
}

const (
	manyEaters   = 10   // sources are looked at to find those that use most
	mostOfIt     = 0.75 // of what is spent, that a few sources use
	hardlyUsed   = 0.9  // of the budget, below which it is not the budget that limits
	goodShare    = 0.9  // of the changes
	worthTelling = 0.02 // of the changes, that twice the budget would add
)

// budgetAdvice says what to do about a budget, the most useful first.
func budgetAdvice(a client.Budget) (all []string) {
	if few := greatEaters(a); len(few) > 0 {
		names := make([]string, len(few))
		for i, e := range few {
			names[i] = string(e.ID)
		}
		verb, them := "use", "them"
		if len(few) == 1 {
			verb, them = "uses", "it"
		}
		all = append(all, fmt.Sprintf("%s %s three quarters of your budget: %s. To spend less on %s: freshet edit %s --min-gap %s",
			counted(len(few), "page"), verb, strings.Join(names, ", "), them, names[0], calmer(few[0].Gap)))
	}
	spent, budget := a.Now.SpentPerDay, a.Now.PollsPerDay
	if spent < hardlyUsed*budget {
		lead := "Your budget is enough"
		if a.Now.Share.Mean < goodShare {
			lead = "It is not the budget that limits you"
		}
		return append(all, fmt.Sprintf("%s: about %s of %s is used. A larger one would not be used: pages are not polled while a change is unlikely (auto:least_chance), nor sooner than source_gap and the shares of sources and hosts allow.",
			lead, asBudget(spent), a.Budget))
	}
	if twice, ok := pointAt(a.Curve, 2*budget); ok {
		if more := twice.Share.Mean - a.Now.Share.Mean; a.Saturated {
			return append(all, fmt.Sprintf("Your budget of %s is used in full, and nearly every poll finds a change. Twice as much would capture more.", a.Budget))
		} else if more > worthTelling {
			return append(all, fmt.Sprintf("Your budget of %s is used in full. Twice as much would capture about %s of changes instead of %s.", a.Budget, percent(twice.Share.Mean), percent(a.Now.Share.Mean)))
		}
	}
	return append(all, fmt.Sprintf("Your budget of %s is used in full. Twice as much would capture hardly more.", a.Budget))
}

// greatEaters returns the few sources that use most of what is spent; none if it
// takes more than a few.
func greatEaters(a client.Budget) []client.Eater {
	sum := 0.0
	for i, e := range a.Eaters[:min(len(a.Eaters), manyEaters)] {
		sum += e.PollsPerDay
		if few := i + 1; sum >= mostOfIt*a.Now.SpentPerDay {
			if 4*few > a.Sources || few > 3 && 10*few > a.Sources {
				return nil
			}
			return a.Eaters[:few]
		}
	}
	return nil
}

// calmer returns a gap that halves what a source takes or better, as one would
// write it.
func calmer(gap client.Duration) string {
	for _, d := range []time.Duration{
		10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if d >= 2*time.Duration(gap) {
			return units.FormatDuration(d)
		}
	}
	return "1d"
}

// pointAt returns the point of a curve that is nearest to a budget, if one is near.
func pointAt(curve []client.BudgetPoint, perDay float64) (best client.BudgetPoint, ok bool) {
	for _, p := range curve {
		if p.PollsPerDay >= perDay*0.93 && p.PollsPerDay <= perDay*1.07 {
			return p, true
		}
	}
	return best, false
}

// aboutTime says roughly how long something takes.
func aboutTime(d time.Duration) string {
	if d < time.Minute {
		return "about a minute"
	}
	return "about " + roughDuration(d)
}
