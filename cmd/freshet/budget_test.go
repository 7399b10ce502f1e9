package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"freshet/client"
)

// Where nearly every poll finds a change only a bound of the share is known, and no other share is
// said to be captured, now or with twice the budget.
func TestBudgetOfSaturatedPolls(t *testing.T) {
	point := func(polls, low, mean, high float64) client.BudgetPoint {
		return client.BudgetPoint{
			PollsPerDay: polls, SpentPerDay: polls, ChangesPerDay: 900, Share: client.Estimate{Mean: mean, Low: low, High: high}, Delay: client.Duration(time.Minute),
			Within: []client.Within{{Share: mean}, {Share: mean}, {Share: mean}},
		}
	}
	answer := client.Budget{
		Budget: "1440/d", Sources: 40, Now: point(1440, 0.11, 0.52, 0.93), Curve: []client.BudgetPoint{point(720, 0.05, 0.3, 0.8), point(1440, 0.11, 0.52, 0.93), point(2880, 0.2, 0.71, 0.97)},
	}
	say := func(saturated bool) string {
		var out bytes.Buffer
		answer.Saturated = saturated
		b := budgeting{program: &program{out: &out, err: &out, env: func(string) string { return "" }}}
		if err := b.show(answer); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	const bound, twice = "Forecast: at most 93% of changes are captured, on average 1m after they happen.", "nearly every poll finds a change. Twice as much would capture more."
	if said := say(true); !strings.Contains(said, bound) || !strings.Contains(said, twice) || strings.Contains(said, "52%") || strings.Contains(said, "71%") {
		t.Errorf("of saturated polls it says: %s", said)
	}
	if said := say(false); strings.Contains(said, bound) || strings.Contains(said, twice) || !strings.Contains(said, "about 52% of changes are captured") || !strings.Contains(said, "71%") {
		t.Errorf("of other polls it says: %s", said)
	}
}
