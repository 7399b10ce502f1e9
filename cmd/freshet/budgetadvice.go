package main

import (
	"fmt"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

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
		if more := twice.Share.Mean - a.Now.Share.Mean; more > worthTelling {
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
			return freshet.FormatDuration(d)
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
