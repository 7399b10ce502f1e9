package generate_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
)

func generated(t *testing.T, g generate.Spec) *lab.History {
	t.Helper()
	h, err := generate.New(g)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func written(t *testing.T, h *lab.History) string {
	t.Helper()
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every kind makes the same history of the same seed, another of another, and
// one that a trace file can hold.
func TestNew(t *testing.T) {
	for _, kind := range generate.Kinds {
		t.Run(kind, func(t *testing.T) {
			small := generate.Spec{Kind: kind, Seed: 1, Pages: 20, Sites: 3}
			one := written(t, generated(t, small))
			if again := written(t, generated(t, small)); again != one {
				t.Error("the same seed makes two histories")
			}
			small.Seed = 2
			if other := written(t, generated(t, small)); other == one {
				t.Error("two seeds make the same history")
			}
			h, err := lab.ReadHistory(strings.NewReader(one), kind)
			if err != nil {
				t.Fatal(err)
			}
			if again := written(t, h); again != one || h.Changes() < 10 {
				t.Errorf("a history of %d changes is not the same after it was written and read", h.Changes())
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, g := range []generate.Spec{
		{Kind: "possion"}, {Kind: "poisson", Pages: -1}, {Kind: "poisson", Length: -time.Hour},
		{Kind: "poisson", PerDay: 1e12}, {Kind: "atis", Jitter: -1}, {Kind: "normal", Cycle: time.Nanosecond},
	} {
		if _, err := generate.New(g); err == nil {
			t.Errorf("%+v is taken", g)
		}
	}
}

// The recipes give what they were fitted to give.
func TestGeneratedNumbers(t *testing.T) {
	within := func(what string, got, low, high float64) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: %v, want %v to %v", what, got, low, high)
		}
	}
	quantised := func(g generate.Spec, p lab.Period) *lab.Grid {
		t.Helper()
		grid, err := generated(t, g).Quantise(p)
		if err != nil {
			t.Fatal(err)
		}
		return grid
	}
	within("changes of a Poisson page a day", float64(generated(t, generate.Spec{Kind: "poisson", Pages: 4000}).Changes())/4000, 11, 13)
	within("changes of a bursty page a day", float64(generated(t, generate.Spec{Kind: "bursty", Pages: 4000}).Changes())/4000, 10, 14)
	within("changes of a periodic page a day", float64(generated(t, generate.Spec{Kind: "periodic"}).Changes())/1000, 15, 18)
	within("changes of the auctions in a day", float64(quantised(generate.Spec{Kind: "auction"}, lab.Period{}).Changes()), 12500, 13900)
	bids := generated(t, generate.Spec{Kind: "bidding"})
	within("changes of the fitted auctions in a day", float64(bids.Changes()), 11000, 13000)
	evening, night := 0.0, 0.0
	for _, at := range bids.All() {
		switch at.Hour() {
		case 19, 20, 21:
			evening++
		case 7, 8, 9:
			night++
		}
	}
	within("bids at eight in the evening, by those at eight in the morning when more auctions last", evening/night, 1.8, 2.6)

	// An hourly poll at the best two minutes catches most reports, one at the
	// hour and the half hour about half.
	g := quantised(generate.Spec{Kind: "atis", Length: 30 * 24 * time.Hour}, lab.Period{Start: newYear})
	recall := func(minutes ...int) float64 {
		s := lab.NewScorer(g, lab.Weights{}, lab.Measures{})
		for j := 1; j <= g.Instants; j++ {
			for _, m := range minutes {
				if (j-1)%60 == m {
					s.Poll(0, j)
				}
			}
		}
		return s.Score().Recall
	}
	within("reports caught at :00 and :30", recall(0, 30), .4, .65)
	within("reports caught at :09 and :20", recall(9, 20), .8, .95)
}

// A share of the V-shaped sites hardly changes, another nearly always.
func TestVShapedSites(t *testing.T) {
	const pages, cycles = 140, 5
	h := generated(t, generate.Spec{Kind: "vshaped", Pages: pages})
	g, err := h.Quantise(lab.Period{Instant: cycle, Start: newYear, End: newYear.Add(cycles * cycle)})
	if err != nil {
		t.Fatal(err)
	}
	bySite := map[string]int{}
	for page, id := range g.Pages() {
		site, _, _ := strings.Cut(string(id), "/")
		bySite[site] += len(g.Of(page))
	}
	low, high := 252-len(bySite), 0 // a site that never changes is not in a history
	for _, n := range bySite {
		switch share := float64(n) / (pages * cycles); {
		case share < .1:
			low++
		case share > .9:
			high++
		}
	}
	if each := float64(g.Changes()) / (252 * pages * cycles); each < .27 || each > .31 {
		t.Errorf("%v of the pages change in a cycle, want about .29", each)
	}
	if low < 80 || high < 30 {
		t.Errorf("%d sites change in less than a tenth and %d in more than nine tenths, want the ends to be full", low, high)
	}
}

const cycle = 30 * 24 * time.Hour

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
