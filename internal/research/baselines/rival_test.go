package baselines_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// New knows the daemon's policies and the rivals, with their options.
func TestNew(t *testing.T) {
	for _, name := range baselines.Names() {
		if _, err := baselines.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s is named and not known: %v", name, err)
		}
	}
	for _, name := range slices.Concat(policy.Names, policy.Experimental) {
		if !slices.Contains(baselines.Names(), name) {
			t.Errorf("%s is not among the names", name)
		}
	}
	for _, name := range []string{"cam:slip=3", "nutch:min=1m,max=1h", "frequency:floor=0.1", "fixed:every=90s"} {
		if _, err := baselines.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, reason := range map[string]string{
		"unifrom":           `unknown policy "unifrom"; use one of auto, uniform`,
		"unifrom:x=1":       "nutch, stormcrawler",
		"cam:slop=3":        "cam has no option slop; it has epoch, slip",
		"cam:slip=x":        "slip=x: the value is not a whole number",
		"cam:slip":          "is not of the form key=value",
		"yardstick:x=1":     "yardstick has no options",
		"nutch:every=1h":    "nutch has no option every; it has initial, min, max",
		"frequency:florr=1": "frequency has no option florr",
	} {
		_, err := baselines.New(name, policy.Setting{})
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "policy" || !strings.Contains(invalid.Reason, reason) {
			t.Errorf("%s gives %v, want an error that says %q", name, err, reason)
		}
	}
}

// Each name stands for its rule, and what is set of it reaches it.
func TestNewMakesWhatIsNamed(t *testing.T) {
	at := policy.Setting{Start: policytest.Noon, Instant: time.Minute, Polls: 0.5}
	for _, c := range []struct {
		name      string
		same, not freshet.Policy
	}{
		{"yardstick",
			baselines.NewYardstick(baselines.YardstickConfig{Start: at.Start, Instant: at.Instant, Polls: at.Polls}),
			baselines.NewYardstick(baselines.YardstickConfig{Start: at.Start, Instant: at.Instant})},
		{"cam:epoch=4",
			baselines.NewCAM(baselines.CAMConfig{Start: at.Start, Instant: at.Instant, Polls: at.Polls, Epoch: 4}),
			baselines.NewCAM(baselines.CAMConfig{Start: at.Start, Instant: at.Instant, Polls: at.Polls})},
	} {
		p, err := baselines.New(c.name, at)
		if err != nil {
			t.Fatal(err)
		}
		got := polls(p)
		if want := polls(c.same); got != want {
			t.Errorf("%s polls %s, want %s", c.name, got, want)
		}
		if got == polls(c.not) {
			t.Errorf("%s polls %s whatever is set of it", c.name, got)
		}
	}
}

// polls returns which of some sources a policy polls, and at what worth, while
// each found a change every so many instants.
func polls(p freshet.Policy) string {
	var b strings.Builder
	const sources = 5
	for i := range freshet.Slot(sources) {
		p.Put(policytest.Noon, i, freshet.Source{ID: freshet.SourceID(fmt.Sprint(i)), Life: objective.Visibility{Kind: objective.VisibleForever}, Weight: float64(1 + i%2)}, time.Time{})
	}
	seen := make([]time.Time, sources)
	for j := 1; j <= 60; j++ {
		now := policytest.Noon.Add(time.Duration(j) * time.Minute)
		var taken []freshet.Slot
		p.Choose(now, j%2, func(s freshet.Slot, worth float64) bool {
			fmt.Fprintf(&b, " %d:%.6g", s, worth)
			taken = append(taken, s)
			return true
		})
		for _, s := range taken {
			o := freshet.Outcome{Since: seen[s], Began: now, Ended: now}
			if j%(int(s)+2) == 0 {
				o.Result = freshet.Changed
			}
			seen[s] = now
			p.Observe(now, s, o)
		}
	}
	return b.String()
}

// The rules of products come back when they should, by their names and with the
// intervals that their options set, or those of the product made to fit an
// instant.
func TestNewOfProducts(t *testing.T) {
	config := policy.RevisitConfig{Initial: 10 * time.Hour, Min: time.Hour, Max: 20 * time.Hour}
	scaled := policy.RevisitConfig{Instant: time.Minute}
	for name, fresh := range map[string]func(policy.RevisitConfig) *policy.Revisit{
		"miniflux": baselines.NewMiniflux, "nutch": baselines.NewNutch, "stormcrawler": baselines.NewStormCrawler,
	} {
		for _, c := range []struct {
			options string
			at      policy.Setting
			want    policy.RevisitConfig
		}{
			{"", policy.Setting{Instant: time.Minute}, policy.RevisitConfig{}},
			{":initial=10h,min=1h,max=20h", policy.Setting{}, config},
			{"", policy.Setting{Instant: time.Minute, Scale: true}, scaled},
		} {
			p, err := baselines.New(name+c.options, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := policytest.Gaps(t, p, "1cuccu"), policytest.Gaps(t, fresh(c.want), "1cuccu"); !slices.Equal(got, want) {
				t.Errorf("%s%s comes back after %v, want %v", name, c.options, got, want)
			}
		}
	}
}
