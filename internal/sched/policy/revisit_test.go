package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

func TestFixedIntervalIsSpread(t *testing.T) {
	for seed := range uint64(3) {
		p := policy.NewFixed(policy.RevisitConfig{Initial: time.Hour, Seed: seed})
		got := policytest.Gaps(t, p, "1uucuuuuuu")
		for _, g := range got {
			if g < 54*time.Minute || g > 66*time.Minute {
				t.Errorf("a gap of %v, want an hour give or take six minutes", g)
			}
		}
		if slices.Max(got)-slices.Min(got) < 2*time.Minute {
			t.Errorf("gaps %v, want them spread", got)
		}
		if again := policytest.Gaps(t, policy.NewFixed(policy.RevisitConfig{Initial: time.Hour, Seed: seed}), "1uucuuuuuu"); !slices.Equal(got, again) {
			t.Errorf("gaps %v and then %v from one seed", got, again)
		}
	}
}

// Fixed by its name has the interval that it is given, or sixty instants where it
// is to fit the instant.
func TestFixedByName(t *testing.T) {
	for _, c := range []struct {
		name string
		at   policy.Setting
		want time.Duration
	}{
		{"fixed", policy.Setting{Instant: time.Second}, 3 * time.Hour},
		{"fixed", policy.Setting{Instant: time.Second, Scale: true}, time.Minute},
		{"fixed:every=5h", policy.Setting{Instant: time.Second}, 5 * time.Hour},
		{"fixed:every=5h", policy.Setting{Instant: time.Second, Scale: true}, 5 * time.Hour},
		{"fixed:initial=2h", policy.Setting{}, 2 * time.Hour},
	} {
		p, err := policy.New(c.name, c.at)
		if err != nil {
			t.Fatal(err)
		}
		for _, gap := range policytest.Gaps(t, p, "1ucu") {
			if off := gap.Seconds() / c.want.Seconds(); off < 0.9 || off > 1.1 {
				t.Errorf("%s in %+v comes back after %v, want %v give or take a tenth", c.name, c.at, gap, c.want)
			}
		}
	}
}

func TestMostOverdueGoesFirst(t *testing.T) {
	p := policy.NewFixed(policy.RevisitConfig{Initial: time.Hour})
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
	p := policy.NewFixed(policy.RevisitConfig{Initial: 10 * time.Hour})
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
	policytest.KeepsCount(t, func() freshet.Policy { return policy.NewFixed(policy.RevisitConfig{Instant: tick}) }, false)
}
