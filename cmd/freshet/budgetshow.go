package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

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
		say("%s", paint.bold("Too early to say what this budget brings: "+a.TooEarly+"."))
		if a.Early > 0 {
			looks := time.Duration(float64(2*a.Early) / a.Now.PollsPerDay * float64(day))
			say("At %s every source can be polled twice in %s.", a.Budget, aboutTime(looks))
		}
	default:
		for i, advice := range budgetAdvice(a) {
			if i == 0 {
				advice = paint.bold(advice)
			}
			say("%s", advice)
		}
		say("%s", pointInWords(a.Now))
		if a.Wide != "" {
			say("%s", a.Wide)
		}
		b.showDetails(a, say)
		fmt.Fprintln(b.out)
		sketch(b.out, paint.palette, a)
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
			say("Captured within %s: %s of changes.", freshet.FormatDuration(d), percent(w.Share))
		}
	}
	say("One more poll a minute would add %.2f percentage points.", 100*a.OneMore)
	if s := a.SoFar; s != nil {
		say("Measured of late: %s (%s). The chart goes through this at the polls that were made then.", percent(s.Share.Mean), bounds(s.Share))
	}
}

// say prints a sentence, with an empty line before it if it begins with one.
func (b *budgeting) say(s screen, format string, args ...any) {
	text, apart := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if apart {
		fmt.Fprintln(b.out)
	}
	fmt.Fprintln(b.out, s.prose(text, "  "))
}

// pointInWords says what a budget brings.
func pointInWords(p client.BudgetPoint) string {
	return fmt.Sprintf("About %s of changes are captured (%s), on average %s after they happen.", percent(p.Share.Mean), bounds(p.Share), late(p.Delay))
}

// goalInWords says what a goal costs.
func goalInWords(g client.BudgetGoal, a client.Budget) string {
	delay := freshet.FormatDuration(time.Duration(g.Delay))
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

func (b *budgeting) showEaters(a client.Budget, paint screen) error {
	if b.eaters <= 0 || len(a.Eaters) == 0 {
		return nil
	}
	fmt.Fprintln(b.out)
	t := table{
		head:  []string{"ID", "POLLS/DAY", "OF BUDGET", "EVERY", "CHANGES/DAY", "CAPTURED/DAY", "SHARE", "LATE"},
		short: map[string]int{"ID": 10},
		drop:  []string{"LATE", "POLLS/DAY", "CAPTURED/DAY"},
	}
	for _, e := range a.Eaters[:min(b.eaters, len(a.Eaters))] {
		t.add(plain(string(e.ID)), plain(rough(e.PollsPerDay)), plain(percent(e.PollsPerDay/a.Now.PollsPerDay)), plain(late(e.Gap)),
			plain(rough(e.ChangesPerDay)), plain(rough(e.CapturedPerDay)), plain(percent(e.Share.Mean)), plain(late(e.Delay)))
	}
	return t.write(b.out, paint)
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
		return freshet.FormatDuration(t.Round(time.Second))
	case t < 2*day:
		return freshet.FormatDuration(t.Round(time.Minute))
	}
	return rough(float64(t)/float64(day)) + "d"
}
