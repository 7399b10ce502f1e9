package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// An index is read as often as it saves polls of pages: often where a site is large and
// slow, hardly ever where every poll of a page finds something, where its dates move
// without a change, or where there is but one page.
func TestAutoReadsIndexesForWhatTheySave(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	const instants = 2000
	everything := lab.Evidence{Kind: lab.Index}
	tests := []struct {
		what        string
		pages       int
		rate        float64 // changes an instant
		budget      float64
		evidence    lab.Evidence
		lies        bool
		least, most float64 // share of the polls that are readings
		gain        float64 // recall, beside polls that show bits
	}{
		{"a large site that is slow", 300, 0.003, 3, everything, false, 0.05, 0.4, 0.1},
		{"a large site whose feed shows the last 20 pages, and none at first", 300, 0.003, 3, lab.Evidence{Kind: lab.Index, Entries: 20}, false, 0.05, 0.4, 0.1},
		{"a site that changes all the time", 12, 0.5, 3, everything, false, 0, 0.02, -0.01},
		{"one page", 1, 0.05, 0.1, everything, false, 0, 0.1, -0.02},
		{"dates that always move", 300, 0.003, 3, everything, true, 0, 0.03, -0.03},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(1, 2))
			changes := make([][]int, tt.pages)
			for i := range changes {
				changes[i] = atRandom(draw, 1, instants, tt.rate)
			}
			g := lab.NewGrid(noon, time.Minute, instants, changes)
			var pages []evidence.PageHint
			for _, id := range g.Pages() {
				pages = append(pages, evidence.PageHint{Page: crawl.PageKeyOf(urlOf(id))})
			}
			run := func(e lab.Evidence) lab.Score {
				o := lab.Options{Budget: tt.budget, Evidence: e}
				o.Weights.Adjust = func(_ int, s *freshet.Source) { s.URL = urlOf(s.ID) }
				if tt.lies {
					o.Answer = func(p freshet.Poll, o *freshet.Outcome) {
						if !p.Source.Index {
							return
						}
						o.Result, o.Word = freshet.Changed, &evidence.IndexHint{Pages: pages}
						for i := range pages {
							pages[i].Date = o.Began
						}
					}
				}
				a := policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Polls: tt.budget})
				score, err := lab.Replay(t.Context(), g, a, o)
				if err != nil {
					t.Fatal(err)
				}
				return score
			}
			bits, told := run(lab.Evidence{}), run(tt.evidence)
			share := float64(told.IndexPolls) / float64(told.Polls)
			t.Logf("%.3f of the polls are readings; recall %.3f, and %.3f without", share, told.Recall, bits.Recall)
			if share < tt.least || share > tt.most {
				t.Errorf("%.3f of the polls are readings of the index, want %v to %v", share, tt.least, tt.most)
			}
			if told.Recall < bits.Recall+tt.gain {
				t.Errorf("recall is %.3f with the index and %.3f without, want %+.2f at least", told.Recall, bits.Recall, tt.gain)
			}
		})
	}
}

// urlOf returns the address of a page of the one site there is.
func urlOf(id freshet.SourceID) string { return fmt.Sprintf("https://site.example/%s", id) }
