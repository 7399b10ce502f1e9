package policy_test

import (
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// Pages that change twice an hour, each around minutes of its own, are polled twice an hour.
// Where they date their changes, they are polled just after those minutes.
func TestAutoKeepsToMinutes(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	const pages, budget = 60, 2.0 // a minute
	h, err := generate.New(generate.Spec{Kind: "atis", Pages: pages, Length: 48 * time.Hour, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	recall := func(e lab.Evidence) float64 {
		a := policy.NewAuto(policy.AutoConfig{Start: g.Start, Instant: g.Instant, Polls: budget})
		score, err := lab.Replay(t.Context(), g, a, lab.Options{Budget: budget, Evidence: e})
		if err != nil {
			t.Fatal(err)
		}
		return score.Recall
	}
	bits, dates := recall(lab.Evidence{}), recall(lab.Evidence{Kind: lab.Feed, Entries: 5})
	t.Logf("recall %.3f without dates, and %.3f with them", bits, dates)
	if dates < 0.79 || dates < bits+0.05 {
		t.Errorf("of pages that keep to minutes of their own and date their changes %.3f are captured, and %.3f without dates", dates, bits)
	}
}
