package main

import (
	"fmt"
	"time"

	"freshet/client"
	"freshet/internal/learn/forecast"
)

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
func (b *budgeting) showLevels(l *client.Levels, paint screen, say func(string, ...any)) error {
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
	t := table{
		head:  []string{"ID", "LEVEL", "IN TIME", "EVERY", "NEEDS EVERY", "NEXT POLL", "POLLS/DAY", "WHY NOT"},
		short: map[string]int{"ID": 10},
		drop:  []string{"POLLS/DAY", "EVERY", "NEXT POLL"},
	}
	for _, i := range l.Items {
		share, next, needs := cell{percent(i.Share), paint.green}, "-", rough(i.NeedPerDay)
		if !i.Kept {
			share.paint = paint.red
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
		t.add(plain(string(i.ID)), plain(i.Level), share, plain(late(i.Gap)), plain(late(i.NeedGap)), plain(next), plain(needs), plain(holds[forecast.Obstacle(i.Hold)]))
	}
	return t.write(b.out, paint)
}

// levelsInWords says how many levels are kept.
func levelsInWords(l client.Levels, paint screen) string {
	kept := l.Set - l.Unmet
	words := fmt.Sprintf("Service levels: %d of %d are kept.", kept, l.Set)
	if l.Unknown > 0 {
		words += fmt.Sprintf(" Of %d it is too early to say.", l.Unknown)
	}
	if l.Unmet == 0 {
		return "Service levels: " + paint.green(fmt.Sprintf("%d of %d are kept.", kept, l.Set))
	}
	if l.Impossible > 0 {
		words += fmt.Sprintf(" %d cannot be kept, whatever the budget.", l.Impossible)
	}
	return paint.red(words)
}
