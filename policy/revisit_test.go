package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet"
	"freshet/policy"
)

const day = 24 * time.Hour

// gaps polls one source whenever it is due, with the results given (c for
// changed, u for unchanged, f for failed), and returns the times between.
func gaps(t *testing.T, p freshet.Policy, results string) []time.Duration {
	t.Helper()
	p.Put(noon, 0, freshet.Source{ID: "a"}, time.Time{})
	var out []time.Duration
	now := noon
	for _, r := range results {
		taken := false
		offer := func(freshet.Slot, float64) bool { taken = true; return true }
		if again := p.Choose(now, 1, offer); !taken {
			out = append(out, again.Sub(now))
			now = again
			if p.Choose(now.Add(-1), 1, offer); taken {
				t.Fatalf("a poll before its time, %v", now)
			}
			p.Choose(now, 1, offer)
		}
		if !taken {
			t.Fatalf("no poll at %v, when it was due", now)
		}
		p.Observe(now, 0, freshet.Outcome{Began: now, Ended: now, Result: map[rune]freshet.Result{
			'1': freshet.First, 'c': freshet.Changed, 'u': freshet.Unchanged, 'f': freshet.Failed}[r]})
	}
	again := p.Choose(now, 1, func(freshet.Slot, float64) bool { return false })
	return append(out, again.Sub(now))
}

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
		{"StormCrawler goes half way to the least, or half as far again", policy.NewStormCrawler(config), "1cuuuu",
			hours(10, 5.5, 8.25, 12.375, 18.5625, 20)},
		{"StormCrawler as shipped", policy.NewStormCrawler(policy.RevisitConfig{}), "1cc", hours(24, 12.5, 6.75)},
		// After the change at hour 10 the page is found as it was 8 hours later,
		// and 0.3 of those 8 are taken off 8 * 1.4. Then it is 16.8 hours since
		// the change, which is more than 11.2 * 1.4.
		{"Nutch shrinks by a fifth, grows by two, and leans back", policy.NewNutch(config), "1cuu", hours(10, 8, 8.8, 16.8*0.7)},
		{"Nutch as shipped", policy.NewNutch(policy.RevisitConfig{}), "1c", hours(30*24, 24*24)},
		{"Miniflux knows no frequency from one entry", policy.NewMiniflux(policy.RevisitConfig{}), "1cu", hours(24, 24, 24)},
		// Two entries a day apart are seven a week.
		{"Miniflux divides the week by its entries", policy.NewMiniflux(policy.RevisitConfig{}), "1cccc", hours(24, 24, 24, 24, 24)},
		{"Miniflux scaled so that five minutes are one", policy.NewMiniflux(policy.RevisitConfig{Instant: time.Minute}), "1cc",
			hours(24./5, 24./5, 24./5)},
	}
	for _, c := range cases {
		got := gaps(t, c.policy, c.results)
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
		p := policy.NewMiniflux(policy.RevisitConfig{})
		p.Put(noon, 0, freshet.Source{ID: "a"}, time.Time{})
		for _, age := range ages {
			p.Observe(noon, 0, freshet.Outcome{Began: noon, Result: freshet.Changed, Modified: noon.Add(-age)})
		}
		return p.Choose(noon, 1, func(freshet.Slot, float64) bool { return false }).Sub(noon)
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

func TestFixedIntervalIsSpread(t *testing.T) {
	for seed := range uint64(3) {
		p := policy.NewFixed(policy.RevisitConfig{Initial: time.Hour, Seed: seed})
		got := gaps(t, p, "1uucuuuuuu")
		for _, g := range got {
			if g < 54*time.Minute || g > 66*time.Minute {
				t.Errorf("a gap of %v, want an hour give or take six minutes", g)
			}
		}
		if slices.Max(got)-slices.Min(got) < 2*time.Minute {
			t.Errorf("gaps %v, want them spread", got)
		}
		if again := gaps(t, policy.NewFixed(policy.RevisitConfig{Initial: time.Hour, Seed: seed}), "1uucuuuuuu"); !slices.Equal(got, again) {
			t.Errorf("gaps %v and then %v from one seed", got, again)
		}
	}
}

func TestMostOverdueGoesFirst(t *testing.T) {
	p := policy.NewStormCrawler(policy.RevisitConfig{Initial: time.Hour, Min: time.Minute})
	for slot, ago := range []time.Duration{2, 4, 3, 0, 4} {
		id := freshet.SourceID([]string{"c", "b", "d", "e", "a"}[slot])
		p.Put(noon.Add(-ago*time.Hour), freshet.Slot(slot), freshet.Source{ID: id}, time.Time{})
	}
	p.Observe(noon, 3, freshet.Outcome{Began: noon})
	if got := choose(p, 9, 2); got != "4 1 0" {
		t.Errorf("slots %q, want the longest overdue first, of equals the smaller ID, and none that is shut or not due", got)
	}
	p.Put(noon, 3, freshet.Source{ID: "e", Paused: true}, noon)
	p.Remove(2)
	again := p.Choose(noon, 9, func(freshet.Slot, float64) bool { return true })
	if !again.IsZero() {
		t.Errorf("ask again at %v, want not before something happens", again)
	}
	p.Observe(noon, 1, freshet.Outcome{Began: noon, Result: freshet.Failed})
	if got := choose(p, 9); got != "1" {
		t.Errorf("slots %q, want the one that failed to be as due as it was", got)
	}
}

// Sources that were seen before do not come all at once.
func TestKnownSourcesAreSpread(t *testing.T) {
	p := policy.NewNutch(policy.RevisitConfig{Initial: 10 * time.Hour})
	for slot := range freshet.Slot(1000) {
		p.Put(noon, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("source-%d", slot))}, noon)
	}
	for hour := 1; hour <= 10; hour++ {
		n := 0
		p.Choose(noon.Add(time.Duration(hour)*time.Hour), 1000, func(freshet.Slot, float64) bool { n++; return true })
		if n < 60 || n > 140 {
			t.Errorf("%d sources are due in hour %d, want about a tenth of a thousand", n, hour)
		}
	}
}

func TestRevisitKeepsCount(t *testing.T) {
	for name, fresh := range map[string]func(policy.RevisitConfig) *policy.Revisit{
		"fixed": policy.NewFixed, "miniflux": policy.NewMiniflux, "nutch": policy.NewNutch, "stormcrawler": policy.NewStormCrawler,
	} {
		t.Run(name, func(t *testing.T) {
			keepsCount(t, func() freshet.Policy { return fresh(policy.RevisitConfig{Instant: tick}) }, false)
		})
	}
}
