package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet"
	"freshet/client"
	"freshet/whatif"
)

// show prints an answer for people.
func (b *budgeting) show(a client.Budget) error {
	paint := b.screen()
	say := func(format string, args ...any) { b.say(paint, format, args...) }
	if a.Sources == 0 {
		say("no source is polled; add one with freshet add URL")
		return nil
	}
	say("budget %s, %s polls a day, for %s with about %s changes a day",
		a.Budget, rough(a.Now.PollsPerDay), counted(a.Sources, "source"), rough(a.Now.ChangesPerDay))
	if s := a.SoFar; s != nil {
		say("of late:  %s of changes captured (%s), %s late on average", percent(s.Share.Mean), bounds(s.Share), late(s.Delay))
	}
	say("%s", paint.bold("expected: "+pointInWords(a.Now)))
	if share := a.Now.Share; share.High > 3*share.Low {
		say("little has been seen of the sources yet: these figures will change")
	}
	if a.Now.SpentPerDay < 0.99*a.Now.PollsPerDay {
		say("there is use for %s polls a day only", rough(a.Now.SpentPerDay))
	}
	say("one poll more a minute would add %.2f points", 100*a.OneMore)
	fmt.Fprintln(b.out)
	sketch(b.out, paint.palette, a)
	if g := a.Goal; g != nil {
		say("\n%s", goalInWords(*g, a))
	}
	if d := a.Drop; d != nil {
		b.showDrop(*d, say)
	}
	if err := b.showEaters(a, paint); err != nil {
		return err
	}
	return b.showLevels(a.Levels, paint, say)
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
	words := fmt.Sprintf("%s of changes captured (%s), %s late on average", percent(p.Share.Mean), bounds(p.Share), late(p.Delay))
	for _, w := range p.Within {
		if d := time.Duration(w.Time); d == 10*time.Minute || d == time.Hour {
			words += fmt.Sprintf(", %s within %s", percent(w.Share), freshet.FormatDuration(d))
		}
	}
	return words
}

// goalInWords says what a goal costs.
func goalInWords(g client.BudgetGoal, a client.Budget) string {
	delay := freshet.FormatDuration(time.Duration(g.Delay))
	want := percent(g.Share) + " of changes captured"
	switch {
	case g.Share == 0:
		want = "a mean delay of " + delay
	case g.Delay > 0:
		want += " within " + delay
	}
	if !g.Reachable {
		return fmt.Sprintf("%s cannot be had: with %s it would be %s; min_gap and hosts.delay may hold sources back",
			want, asBudget(g.At.PollsPerDay), pointInWords(g.At))
	}
	return fmt.Sprintf("%s would take %s, %s times the present budget: %s",
		want, asBudget(g.At.PollsPerDay), rough(g.At.PollsPerDay/a.Now.PollsPerDay), pointInWords(g.At))
}

func (b *budgeting) showDrop(d client.Drop, say func(string, ...any)) {
	if d.Sources == 0 {
		say("\nno source is named by %s", strings.Join(b.drop, ", "))
		return
	}
	say("\ndropping %s would free %s polls a day and lose %s captured changes a day", counted(d.Sources, "source"), rough(d.FreedPerDay), rough(d.LostPerDay))
	say("the others now:  %s", pointInWords(d.Before))
	say("the others then: %s", pointInWords(d.After))
}

func (b *budgeting) showEaters(a client.Budget, paint screen) error {
	if len(a.Eaters) == 0 {
		return nil
	}
	fmt.Fprintln(b.out)
	t := table{
		head:  []string{"ID", "POLLS/DAY", "OF BUDGET", "EVERY", "CHANGES/DAY", "CAPTURED/DAY", "SHARE", "LATE"},
		short: map[string]int{"ID": 10},
		drop:  []string{"LATE", "POLLS/DAY", "CAPTURED/DAY"},
	}
	for _, e := range a.Eaters {
		t.add(plain(string(e.ID)), plain(rough(e.PollsPerDay)), plain(percent(e.PollsPerDay/a.Now.PollsPerDay)), plain(late(e.Gap)),
			plain(rough(e.ChangesPerDay)), plain(rough(e.CapturedPerDay)), plain(percent(e.Share.Mean)), plain(late(e.Delay)))
	}
	return t.write(b.out, paint)
}

// holds says what keeps a level from being kept.
var holds = map[whatif.Obstacle]string{
	whatif.NoObstacle: "",
	whatif.ByBudget:   "the levels need more than the budget",
	whatif.ByHost:     "its host may not be polled so often (hosts.delay)",
	whatif.ByMinGap:   "its min_gap",
	whatif.ByRate:     "it may change too often to be kept",
	whatif.ByWorth:    "polls of others are worth more; set max_gap",
}

func (b *budgeting) showLevels(l *client.Levels, paint screen, say func(string, ...any)) error {
	if l == nil {
		if b.levels {
			say("\nno source has a service level; set one with freshet edit SOURCE --level '90%% within 10m'")
		}
		return nil
	}
	colour, words := paint.green, "all are expected to be kept"
	if l.Unmet > 0 {
		colour, words = paint.red, fmt.Sprintf("%d not expected to be kept", l.Unmet)
	}
	say("\nservice levels: %s, %s; keeping all takes %s polls a day of %s",
		counted(l.Set, "source"), colour(words), rough(l.NeedPerDay), rough(l.BudgetPerDay))
	if len(l.Items) == 0 {
		return nil
	}
	t := table{
		head:  []string{"ID", "LEVEL", "IN TIME", "EVERY", "NEEDS EVERY", "POLLS/DAY", "HELD BACK BY"},
		short: map[string]int{"ID": 10},
		drop:  []string{"POLLS/DAY", "EVERY"},
	}
	for _, i := range l.Items {
		share := cell{percent(i.Share), paint.green}
		if !i.Kept {
			share.paint = paint.red
		}
		t.add(plain(string(i.ID)), plain(i.Level), share, plain(late(i.Gap)), plain(late(i.NeedGap)), plain(rough(i.NeedPerDay)), plain(holds[whatif.Obstacle(i.Hold)]))
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
