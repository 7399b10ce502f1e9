package daemon_test

import (
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// Under the limits of a daemon that is told of no others, most of the budget is not
// used. What is foreseen says so, for all sources and for each, and agrees with
// what why says of the next poll.
func TestForesightKnowsWhatIsNotPolled(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates hours of polls")
	inBubble(t, func(t *testing.T, dir string) {
		var means []time.Duration
		for i := range 12 {
			means = append(means, time.Duration(2<<(i/2))*time.Minute)
		}
		w := poissonWeb(means...)
		limits := sched.DefaultLimits()
		at := policy.InDaemon("auto", limits.Budget, len(means))
		p, learner, err := policy.Wire("auto", at)
		if err != nil {
			t.Fatal(err)
		}
		b := begin(t, dir, daemon.Config{Fetcher: w, Policy: p, Learner: learner, Limits: limits}, w.Sources()...)
		defer b.stop()
		const warmup, trial = 90 * time.Minute, 90 * time.Minute
		time.Sleep(warmup)
		synctest.Wait()
		prospects, err := b.Prospects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := forecast.New(prospects, b.Terms())
		said := map[freshet.SourceID]float64{}
		for _, s := range m.Spenders(len(prospects)) {
			said[s.ID] = s.Gap.Seconds()
		}
		asked := time.Now()
		agree := 0
		for id, gap := range said {
			why, err := b.Why(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			rest := why.Next.Sub(why.Outlook.Since).Seconds()
			t.Logf("%s: every %.0f s by the budget, %.0f s after the last by why", id, gap, rest)
			if rest < 3*gap && rest > gap/3 {
				agree++
			}
		}
		if agree < len(said)*3/4 {
			t.Errorf("of %d sources, budget and why agree on %d", len(said), agree)
		}
		time.Sleep(trial)
		synctest.Wait()
		made := 0
		for id := range said {
			log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: id, Limit: 1_000_000})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range log {
				if o.Began.After(asked) {
					made++
				}
			}
		}
		was, expected := float64(made)/trial.Seconds(), m.Now().Spent
		t.Logf("%.4f polls a second were foreseen of a budget of %.0f, and %.4f were made", expected, limits.Budget.PerSecond(), was)
		if expected > 2*was || expected < was/2 {
			t.Errorf("%.4f polls a second were foreseen, and %.4f were made", expected, was)
		}
		if larger := m.At(10); larger.Spent > 1.01*expected {
			t.Errorf("ten times the budget is said to spend %.4f instead of %.4f, and nothing would use it", larger.Spent, expected)
		}
	})
}
