package lab_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
)

// renamed returns a history with other names for its pages, in instants of a second.
func renamed(t *testing.T, h *lab.History, name func(freshet.SourceID) string) *lab.Grid {
	t.Helper()
	g, err := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, at := range h.All() {
			if !yield(freshet.SourceID(name(id)), at) {
				return
			}
		}
	}).Quantise(lab.Period{Instant: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// asIs names a page as it is named.
func asIs(id freshet.SourceID) string { return string(id) }

// flat names a page as one at the top of its site.
func flat(id freshet.SourceID) string {
	return "site.example/" + strings.ReplaceAll(strings.TrimPrefix(string(id), "site.example/"), "/", "-")
}

// scattered names a page as one of six directories, which say nothing of it.
func scattered(id freshet.SourceID) string {
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("site.example/part%d/%s", h.Sum32()>>7%6, id)
}

// firstFound replays a grid with a poll a second, and returns how many of the first polls found a
// change, and what was captured in all.
func firstFound(t *testing.T, g *lab.Grid, name string, first int) (found int, recall float64) {
	t.Helper()
	at := policy.Setting{Start: g.Start, Instant: g.Instant, Polls: 1, Sources: len(g.Pages()), Seed: 1}
	p, err := policy.New(name, at)
	if err != nil {
		t.Fatal(err)
	}
	polls := 0
	score, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: 1, Look: func(_, _ int, changed bool) {
		if polls++; polls <= first && changed {
			found++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return found, score.Recall
}

// On a site whose directories differ, auto finds with its first polls what a sample of each
// directory would have found, and goes on to capture more than without directories.
func TestUnlikeDirectories(t *testing.T) {
	const seeds = 6
	var auto, blind, greedy, captured, otherwise float64
	for seed := range uint64(seeds) {
		h := simulated(t, generate.Spec{Kind: "directories", Seed: 31 + seed})
		inParts := renamed(t, h, asIs)
		first := inParts.Instants / 10
		n, recall := firstFound(t, inParts, "auto", first)
		auto, captured = auto+float64(n), captured+recall/seeds
		n, recall = firstFound(t, renamed(t, h, flat), "auto", first)
		blind, otherwise = blind+float64(n), otherwise+recall/seeds
		n, _ = firstFound(t, inParts, "sample-greedy:group=directory", first)
		greedy += float64(n)
	}
	t.Logf("changes found by the first tenth of the polls: %.1f by auto, %.1f without directories, %.1f by greedy; captured in all %.4f, %.4f without",
		auto/seeds, blind/seeds, greedy/seeds, captured, otherwise)
	if auto < 0.95*greedy {
		t.Errorf("the first tenth of the polls of auto found %.1f changes, and of greedy sampling by directory %.1f", auto/seeds, greedy/seeds)
	}
	if captured < 1.03*otherwise {
		t.Errorf("auto captured %.4f, and without directories %.4f", captured, otherwise)
	}
}

// Where directories say nothing of their pages, auto loses next to nothing by them.
func TestDirectoriesThatSayNothing(t *testing.T) {
	const seeds, loss = 8, 0.005
	for _, spec := range []generate.Spec{
		{Kind: "poisson", Pages: 150, PerDay: 200, Length: time.Hour},
		{Kind: "directories"},
	} {
		captured, otherwise := 0.0, 0.0
		for seed := range uint64(seeds) {
			spec.Seed = 51 + seed
			h := simulated(t, spec)
			_, recall := firstFound(t, renamed(t, h, func(id freshet.SourceID) string {
				return scattered(freshet.SourceID(strings.TrimPrefix(flat(id), "site.example/")))
			}), "auto", 0)
			captured += recall / seeds
			_, recall = firstFound(t, renamed(t, h, flat), "auto", 0)
			otherwise += recall / seeds
		}
		t.Logf("%s: captured %.4f, without directories %.4f", spec.Kind, captured, otherwise)
		if captured < (1-loss)*otherwise {
			t.Errorf("%s: with directories that say nothing auto captured %.4f, and without %.4f", spec.Kind, captured, otherwise)
		}
	}
}
