package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lab"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// wordOf returns what a sitemap of the synthetic web says at a moment that it had not said
// when it was last seen; nil if the page is none. This is what whoever reads it has to find.
func wordOf(w *synth.Web, id freshet.SourceID, said map[freshet.SourceID][]synth.Listed, at time.Time) *evidence.IndexHint {
	now := w.Listed(id, at)
	if now == nil {
		return nil
	}
	word := &evidence.IndexHint{Kind: evidence.SitemapIndex}
	for _, p := range w.Pages() {
		if p.ID == id && p.Listing.Cut {
			word.From = evidence.SilentFrom()
		}
	}
	for i, l := range now {
		if before := said[id]; before == nil || !before[i].Date.Equal(l.Date) {
			word.Pages = append(word.Pages, evidence.PageHint{Page: crawl.PageKeyOf(w.URL(l.Page)), Date: l.Date})
		}
	}
	said[id] = now
	return word
}

// On its map, each of a few sites says of its pages what a listing does; there is no map if
// listing is nil. Most pages hardly change, and the budget is far too small for all.
func mapped(listing *synth.Listing) scene {
	const count, pages = 5, 40
	return scene{
		limits: sched.Limits{Budget: sched.Budget{Polls: 10, Per: time.Minute}, Workers: 1},
		period: 3*time.Hour + 13*time.Millisecond,
		expect: count * pages,
		web: func(start time.Time, latency time.Duration, now func() time.Time) *synth.Web {
			var list []synth.Page
			for site := range count {
				host := fmt.Sprintf("site%d", site)
				for page := range pages {
					p := synth.Page{ID: freshet.SourceID(fmt.Sprintf("%s-%03d", host, page)), Host: host, Schedule: synth.Poisson{Mean: time.Duration(10+page) * time.Minute}}
					list = append(list, p)
				}
				if listing != nil {
					list = append(list, synth.Page{ID: freshet.SourceID(host + ".map"), Host: host, Form: synth.Sitemap, Listing: *listing})
				}
			}
			return synth.New(synth.Config{Seed: 11, Start: start, Latency: latency, Pages: list, Now: now})
		},
		sources: (*synth.Web).Sources,
		edits:   func(time.Time, []freshet.Source) []lab.Edit { return nil },
	}
}

// captured judges what some polls have captured of the pages, apart from the maps.
func (sc scene) captured(start time.Time, polls []freshet.Outcome) synth.Score {
	w := mapped(nil).web(start, 0, nil)
	var list []synth.Capture
	for _, o := range polls {
		if o.Result.Seen() {
			list = append(list, synth.Capture{Page: o.Source, Version: w.VersionAt(o.Source, o.Began), At: o.Ended})
		}
	}
	return w.Judge(list, start, start.Add(sc.period))
}

// ofIndexes counts the polls of sitemaps and of the indexes of the lab.
func ofIndexes(polls []freshet.Outcome) (n int) {
	for _, o := range polls {
		if strings.HasSuffix(string(o.Source), ".map") || strings.HasPrefix(string(o.Source), "index:") {
			n++
		}
	}
	return n
}

// Sitemaps that tell the truth, that lie, and that stop half-way: what the daemon reads in
// them is what is there, and it polls, finds and learns as the lab does. One that is true
// is worth as much as an index is in the lab, and one that lies costs little.
func TestLabAgreesWithDaemonOnIndexes(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates hours of polls")
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as in a bubble
	inLab := func(e lab.Evidence) float64 {
		sc := mapped(nil)
		sc.evidence = e
		polls, _ := sc.pollsInLab(t, policy.Default, start)
		recall := sc.captured(start, polls).Recall()
		t.Logf("in the lab, %v: %d polls, %d of them of indexes, %.3f captured", e, len(polls), ofIndexes(polls), recall)
		return recall
	}
	bits, index := inLab(lab.Evidence{}), inLab(lab.Evidence{Kind: lab.Index})
	type sitemaps struct {
		name    string
		listing synth.Listing
		least   float64
	}
	for _, tt := range tier.Cases(3, []sitemaps{
		{"true", synth.Listing{}, max(bits+0.1, index-0.05)},
		{"cut", synth.Listing{Cut: true}, bits - 0.05},
		{"changes without dates", synth.Listing{Mute: true}, bits - 0.05},
		{"dates without changes", synth.Listing{Mute: true, Stamps: synth.Poisson{Mean: 2 * time.Minute}}, bits - 0.05},
		{"true at first", synth.Listing{Until: 90 * time.Minute}, bits - 0.05},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			sc := mapped(&tt.listing)
			polls := sc.agree(t, policy.Default, 1600)
			recall := sc.captured(start, polls).Recall()
			t.Logf("%d polls, %d of them of sitemaps, %.3f captured", len(polls), ofIndexes(polls), recall)
			if recall < tt.least {
				t.Errorf("%.3f captured, want %.3f", recall, tt.least)
			}
		})
	}
}
