package results_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/research/generate"
	"freshet/internal/research/results"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

var update = flag.Bool("update", false, "write the golden files anew")

// simulated returns a history that was made up.
func simulated(t *testing.T, s generate.Spec) *lab.History {
	t.Helper()
	h, err := generate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fewTraces writes two small traces into a folder.
func fewTraces(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, g := range map[string]generate.Spec{
		"chance.csv":         {Kind: "poisson", Pages: 12, Length: 48 * time.Hour, Seed: 3},
		"quakes-2021.csv.gz": {Kind: "bursty", Pages: 8, Start: time.Date(2021, 6, 10, 0, 0, 0, 0, time.UTC), Length: 35 * 24 * time.Hour, Seed: 4},
	} {
		if err := simulated(t, g).WriteFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("no trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contenders(t *testing.T, names ...string) []results.Contender {
	t.Helper()
	list, err := results.Contenders(names...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The page is made from the folder and the policies alone.
func TestPageOfResults(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	r, err := results.Comparison{Traces: fewTraces(t), Contenders: contenders(t, "yardstick", "uniform", "wic", "fixed:every=1h")}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"results.csv": r.WriteCSV,
		"results.md": func(w io.Writer) error {
			return r.WritePage(w, results.Origin{Command: "freshet-lab results --traces DIR", Day: "2026-11-19", Picture: "results.svg", Data: "results.csv"})
		},
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s has changed; go test ./internal/research/results -update rewrites it (-want +got):\n%s", name, diff)
		}
	}
}

// What a comparison says of a setting is what a replay and a limit say.
func TestResultsAreThoseOfReplays(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	dir := fewTraces(t)
	r, err := results.Comparison{Traces: dir, Contenders: contenders(t, "uniform", "wic"), Instant: time.Hour}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := lab.OpenHistory(filepath.Join(dir, "chance.csv"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Instant: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	urgency, err := objective.ParseUrgency("exp:0.9/1h")
	if err != nil {
		t.Fatal(err)
	}
	late := lab.Weights{Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: urgency}
	for _, part := range []struct {
		list    []results.Result
		weights lab.Weights
	}{{r.Reference, lab.Weights{}}, {r.Shares, lab.Weights{}}, {r.Decayed, late}} {
		for _, x := range part.list {
			if x.Trace != "chance" {
				continue
			}
			score, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: x.Budget, Weights: part.weights})
			if err != nil {
				t.Fatal(err)
			}
			limit, err := g.Limit(x.Budget, part.weights)
			if err != nil {
				t.Fatal(err)
			}
			most := limit.Value / float64(g.Changes())
			if got := x.Feats[0]; got.Utility != score.UtilityNormalized || got.OfLimit != score.UtilityNormalized/most || x.Limit != most {
				t.Errorf("%s at %v: %v of %v, and a replay has %v of %v", x.Urgency, x.Budget, got.Utility, x.Limit, score.UtilityNormalized, most)
			}
		}
	}
	if len(r.Shares) != 6 || len(r.Decayed) != 6 || len(r.Missing) != len(results.Recordings())-1 {
		t.Errorf("%d and %d settings, %d recordings missing", len(r.Shares), len(r.Decayed), len(r.Missing))
	}
}

// The column of the daemon is what a replay says in which policy, tick and
// limits are those of the daemon.
func TestResultsOfTheDaemon(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	dir := fewTraces(t)
	r, err := results.Comparison{Traces: dir, Contenders: contenders(t, "uniform", "auto"), Instant: time.Hour, Quick: true}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := lab.OpenHistory(filepath.Join(dir, "chance.csv"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Instant: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	x := r.Reference[slices.IndexFunc(r.Reference, func(x results.Result) bool { return x.Trace == "chance" })]
	p, _, err := policy.Wire("auto", policy.InDaemon("auto", sched.Budget{Polls: x.Budget, Per: time.Hour}, len(g.Pages())))
	if err != nil {
		t.Fatal(err)
	}
	limits := sched.DefaultLimits()
	limits.Budget = sched.Budget{Polls: x.Budget, Per: time.Hour}
	score, err := lab.Replay(t.Context(), g, p, lab.Options{
		Budget: x.Budget, Conditions: lab.Conditions{Continuous: true, Limits: &limits, Latency: 300 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := x.Feats[len(x.Feats)-1]
	if got.Name != "auto, daemon" || got.Recall != score.Recall || got.Recall == x.Feats[1].Recall {
		t.Errorf("%s has a recall of %v, and auto by the instant %v; a replay as the daemon runs has %v", got.Name, got.Recall, x.Feats[1].Recall, score.Recall)
	}
}

// Policies that are replayed once for several weights poll the same under all.
func TestWhoDoesNotMindTheStakes(t *testing.T) {
	g, err := simulated(t, generate.Spec{Kind: "bursty", Pages: 15, Length: 24 * time.Hour}).Quantise(lab.Period{Instant: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range baselines.Names() {
		if !results.Indifferent(name) {
			continue
		}
		var looks [2][][2]int
		for i, k := range []lab.Weights{{}, {Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: .5, Per: g.Instant}}} {
			p, err := baselines.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: 1, Scale: true})
			if err != nil {
				t.Fatal(err)
			}
			note := func(page, instant int, _ bool) { looks[i] = append(looks[i], [2]int{page, instant}) }
			if _, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: 1, Weights: k, Look: note}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(looks[0], looks[1]); diff != "" {
			t.Errorf("%s polls otherwise where changes stay and are urgent:\n%s", name, diff)
		}
	}
}

func TestComparisonStopsAndComplains(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (results.Comparison{Traces: fewTraces(t)}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a comparison that was stopped says %v", err)
	}
	if _, err := (results.Comparison{Traces: t.TempDir()}).Run(t.Context()); err == nil || freshet.HintOf(err) == "" {
		t.Errorf("an empty folder gives %v, want an error with a hint", err)
	}
	if _, err := results.Contenders("unifrom"); err == nil {
		t.Error("a policy that there is not takes part")
	}
}
