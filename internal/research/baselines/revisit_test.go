package baselines_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

const day = 24 * time.Hour

func TestRevisitRules(t *testing.T) {
	hours := func(h ...float64) []time.Duration {
		var out []time.Duration
		for _, x := range h {
			out = append(out, time.Duration(x*float64(time.Hour)))
		}
		return out
	}
	config := policy.RevisitConfig{Initial: 10 * time.Hour, Min: time.Hour, Max: 20 * time.Hour}
	cases := []struct {
		what    string
		policy  freshet.Policy
		results string
		want    []time.Duration
	}{
		{"StormCrawler goes half way to the least, or half as far again", baselines.NewStormCrawler(config), "1cuuuu",
			hours(10, 5.5, 8.25, 12.375, 18.5625, 20)},
		{"StormCrawler as shipped", baselines.NewStormCrawler(policy.RevisitConfig{}), "1cc", hours(24, 12.5, 6.75)},
		// After the change at hour 10 the page is found as it was 8 hours later,
		// and 0.3 of those 8 are taken off 8 * 1.4. Then it is 16.8 hours since
		// the change, which is more than 11.2 * 1.4.
		{"Nutch shrinks by a fifth, grows by two, and leans back", baselines.NewNutch(config), "1cuu", hours(10, 8, 8.8, 16.8*0.7)},
		{"Nutch as shipped", baselines.NewNutch(policy.RevisitConfig{}), "1c", hours(30*24, 24*24)},
		{"Miniflux knows no frequency from one entry", baselines.NewMiniflux(policy.RevisitConfig{}), "1cu", hours(24, 24, 24)},
		// Two entries a day apart are seven a week.
		{"Miniflux divides the week by its entries", baselines.NewMiniflux(policy.RevisitConfig{}), "1cccc", hours(24, 24, 24, 24, 24)},
		{"Miniflux scaled so that five minutes are one", baselines.NewMiniflux(policy.RevisitConfig{Instant: time.Minute}), "1cc",
			hours(24./5, 24./5, 24./5)},
	}
	for _, c := range cases {
		got := policytest.Gaps(t, c.policy, c.results)
		for i := range got {
			got[i] = got[i].Round(time.Microsecond)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: gaps %v, want %v", c.what, got, c.want)
		}
	}
}

// Entries that a feed dates by itself make Miniflux come back at their pace; two
// within a minute make it come back at its fastest for a week.
func TestMinifluxGoesByTheDatesOfEntries(t *testing.T) {
	next := func(ages ...time.Duration) time.Duration {
		p := baselines.NewMiniflux(policy.RevisitConfig{})
		p.Put(policytest.Noon, 0, freshet.Source{ID: "a"}, time.Time{})
		for _, age := range ages {
			p.Observe(policytest.Noon, 0, freshet.Outcome{Began: policytest.Noon, Result: freshet.Changed, Modified: policytest.Noon.Add(-age)})
		}
		return p.Choose(policytest.Noon, 1, func(freshet.Slot, float64) bool { return false }).Sub(policytest.Noon)
	}
	if got := next(6*time.Hour, 4*time.Hour, 2*time.Hour); got != 2*time.Hour {
		t.Errorf("back after %v with an entry every two hours, want two hours", got)
	}
	if got := next(2*time.Minute, time.Minute); got != 5*time.Minute {
		t.Errorf("back after %v with two entries within a minute, want five minutes", got)
	}
	if got := next(9*day, 8*day, time.Hour); got != day {
		t.Errorf("back after %v with one entry in the week, want a day", got)
	}
}

func TestRevisitKeepsCount(t *testing.T) {
	for name, fresh := range map[string]func(policy.RevisitConfig) *policy.Revisit{
		"miniflux": baselines.NewMiniflux, "nutch": baselines.NewNutch, "stormcrawler": baselines.NewStormCrawler,
	} {
		t.Run(name, func(t *testing.T) {
			policytest.KeepsCount(t, func() freshet.Policy { return fresh(policy.RevisitConfig{Instant: policytest.Tick}) }, false)
		})
	}
}
