package lab_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// skewed makes up pages at random of which few are fast and most are slow, as on the Web.
func skewed(t *testing.T, seed uint64, pages int, length time.Duration) *lab.Grid {
	t.Helper()
	draw := rand.New(rand.NewPCG(8, seed))
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	changes := func(yield func(freshet.SourceID, time.Time) bool) {
		for i := range pages {
			gap := 2 * math.Pow(400, float64(i)/float64(pages-1)) // hours
			id := freshet.SourceID(string(rune('a'+i%26)) + string(rune('a'+i/26)))
			for at := draw.ExpFloat64() * gap; at < length.Hours(); at += draw.ExpFloat64() * gap {
				if !yield(id, start.Add(time.Duration(at*float64(time.Hour)))) {
					return
				}
			}
		}
	}
	g, err := lab.NewHistory(changes).Quantise(lab.Period{Start: start, End: start.Add(length), Instant: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func tryAim(t *testing.T, g *lab.Grid, name string, budget float64, k lab.Weights) lab.Score {
	t.Helper()
	p, err := policy.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages())})
	if err != nil {
		t.Fatal(err)
	}
	score, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: budget, Weights: k})
	if err != nil {
		t.Fatal(err)
	}
	return score
}

// Each aim is served best by polls for it, and better than by turns and by the policies
// of the papers, or for age as well as they. Means over draws, since one is off by one percent by luck.
func TestAims(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	t.Parallel()
	const seeds, budget = 6, 4
	mean := map[string]lab.Score{}
	for seed := range uint64(seeds) {
		g := skewed(t, 1+seed, 100, 60*24*time.Hour)
		for _, name := range []string{"auto", "auto:aim=freshness", "auto:aim=age", "uniform", "frequency", "freshness", "age"} {
			score, m := tryAim(t, g, name, budget, lab.Weights{}), mean[name]
			m.Recall += score.Recall / seeds
			m.Freshness += score.Freshness / seeds
			m.AgeSeconds += score.AgeSeconds / seeds
			mean[name] = m
		}
	}
	captures, fresh, age := mean["auto"], mean["auto:aim=freshness"], mean["auto:aim=age"]
	for name, m := range mean {
		t.Logf("%s: %.4f %.4f %.0f", name, m.Recall, m.Freshness, m.AgeSeconds)
		if name != "auto" && name != "frequency" && m.Recall >= captures.Recall {
			t.Errorf("%s captures %.4f, auto %.4f", name, m.Recall, captures.Recall)
		}
		if m.Freshness > fresh.Freshness {
			t.Errorf("%s keeps copies fresh for %.4f of the time, auto for %.4f", name, m.Freshness, fresh.Freshness)
		}
		if m.AgeSeconds < 0.995*age.AgeSeconds {
			t.Errorf("the age of copies is %.0f s by %s, %.0f s by auto", m.AgeSeconds, name, age.AgeSeconds)
		}
	}
}

// Where polls are for captures, copies still do not grow as old as they would, and that
// costs next to nothing.
func TestCapturesKeepCopiesYoung(t *testing.T) {
	tier.Slow(t, "it replays many histories")
	g := skewed(t, 1, 200, 60*24*time.Hour)
	const budget = 4
	bound, free := tryAim(t, g, "auto", budget, lab.Weights{}), tryAim(t, g, "auto:oldest=0", budget, lab.Weights{})
	tight := tryAim(t, g, "auto:oldest=4", budget, lab.Weights{})
	t.Logf("bound: %.4f %.0f; tight: %.4f %.0f; free: %.4f %.0f", bound.Recall, bound.AgeSeconds, tight.Recall, tight.AgeSeconds, free.Recall, free.AgeSeconds)
	if !(bound.AgeSeconds < 0.9*free.AgeSeconds) || bound.Recall < free.Recall-0.005 {
		t.Errorf("an age of %.0f s and %.4f captured, without a bound %.0f s and %.4f", bound.AgeSeconds, bound.Recall, free.AgeSeconds, free.Recall)
	}
}

// Sources with different aims share a budget, and each is served by its own.
func TestAimsOfSources(t *testing.T) {
	g := skewed(t, 1, 100, 60*24*time.Hour)
	aimed := func(page int, s *freshet.Source) {
		if page%2 == 0 {
			s.Aim = objective.Age
		}
	}
	mixed, plain := tryAim(t, g, "auto", 4, lab.Weights{Adjust: aimed}), tryAim(t, g, "auto", 4, lab.Weights{})
	half := func(s lab.Score, even bool) (captured int) {
		for page, p := range s.ByPage {
			if (page%2 == 0) == even {
				captured += p.Captured
			}
		}
		return captured
	}
	t.Logf("mixed: %.4f %.0f, %d and %d captured; plain: %.4f %.0f, %d and %d", mixed.Recall, mixed.AgeSeconds, half(mixed, true), half(mixed, false),
		plain.Recall, plain.AgeSeconds, half(plain, true), half(plain, false))
	if !(mixed.AgeSeconds < 0.8*plain.AgeSeconds) {
		t.Errorf("the age is %.0f s where half of the sources are polled for it, and %.0f s otherwise", mixed.AgeSeconds, plain.AgeSeconds)
	}
	if now, before := half(mixed, false), half(plain, false); float64(now) < 0.7*float64(before) {
		t.Errorf("%d changes are captured of the sources that are polled for captures, and %d where all are", now, before)
	}
}
