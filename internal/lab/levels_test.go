package lab_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// slowAndBusy is a week of one page that changes four times a day, the first one,
// and of others that change every other hour.
func slowAndBusy(t *testing.T, others int) *lab.Grid {
	t.Helper()
	draw := rand.New(rand.NewPCG(3, 4))
	const week = 7 * 24 * time.Hour
	h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		changes := func(id freshet.SourceID, every time.Duration) {
			for at := time.Duration(0); at < week; at += time.Duration(draw.ExpFloat64() * float64(every)) {
				yield(id, start.Add(at))
			}
		}
		changes("a-slow", 6*time.Hour)
		for i := range others {
			changes(freshet.SourceID("b"+string(rune('a'+i%26))+string(rune('a'+i/26))), 2*time.Hour)
		}
	})
	g, err := h.Quantise(lab.Period{Start: start, End: start.Add(week), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// pollsUnder replays the week under auto and returns how often each page was polled
// after the first two days, a day.
func pollsUnder(t *testing.T, g *lab.Grid, budget float64, limits *sched.Limits, level func(page int) objective.ServiceLevel) []float64 {
	t.Helper()
	c := lab.NewCase("levels", g, lab.Weights{Adjust: func(page int, s *freshet.Source) { s.Level = level(page) }})
	p, err := policy.New("auto", policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages())})
	if err != nil {
		t.Fatal(err)
	}
	polls := make([]float64, len(g.Pages()))
	const from = 2 * 24 * 60
	_, err = lab.Replay(t.Context(), g, p, lab.Options{
		Budget: budget, Weights: c.Weights, Conditions: lab.Conditions{Limits: limits},
		Look: func(page, instant int, _ bool) {
			if instant > from {
				polls[page] += 24 * 60 / float64(g.Instants-from)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return polls
}

// A level brings a source the polls that it needs, although others are worth more;
// one that cannot be kept brings none; and levels that need more than there is
// leave the others their part.
func TestLevelsInfluencePolls(t *testing.T) {
	g := slowAndBusy(t, 30)
	none := func(int) objective.ServiceLevel { return objective.ServiceLevel{} }
	only := func(l objective.ServiceLevel) func(int) objective.ServiceLevel {
		return func(page int) objective.ServiceLevel {
			if page == 0 {
				return l
			}
			return objective.ServiceLevel{}
		}
	}
	const budget = 0.1 // a minute: 144 a day, where 31 pages change some 364 times
	without := pollsUnder(t, g, budget, nil, none)
	wanted := objective.ServiceLevel{Share: 0.9, Within: 30 * time.Minute}
	needs := 24 * 3600 / wanted.Gap(objective.Visibility{}, 1/(6*time.Hour).Seconds())
	with := pollsUnder(t, g, budget, nil, only(wanted))
	t.Logf("the slow page is polled %.1f times a day, and %.1f with a level that needs %.1f", without[0], with[0], needs)
	if without[0] > needs/3 {
		t.Fatalf("without a level the page is polled %.1f times a day, which leaves nothing to show", without[0])
	}
	if with[0] < 0.8*needs || with[0] > 1.5*needs {
		t.Errorf("with a level that needs %.1f polls a day there are %.1f, and %.1f without", needs, with[0], without[0])
	}

	impossible := pollsUnder(t, g, budget, &sched.Limits{SourceGap: 6 * time.Hour}, only(objective.ServiceLevel{Share: 0.99, Within: 2 * time.Minute}))
	if impossible[0] > 2*without[0]+1 {
		t.Errorf("for a level that cannot be kept there are %.1f polls a day, and %.1f without one", impossible[0], without[0])
	}

	greedy := pollsUnder(t, g, budget, nil, func(page int) objective.ServiceLevel {
		if page < 16 {
			return objective.ServiceLevel{Share: 0.9, Within: 5 * time.Minute}
		}
		return objective.ServiceLevel{}
	})
	levels, others := 0.0, 0.0
	for page, n := range greedy {
		if page < 16 {
			levels += n
		} else {
			others += n
		}
	}
	t.Logf("with levels that need far more than the budget, 16 pages with one are polled %.1f times a day, and 15 without %.1f times", levels, others)
	if others < 0.25*(levels+others) || levels < others {
		t.Errorf("16 pages with levels have %.1f polls a day, and 15 without %.1f", levels, others)
	}
}
