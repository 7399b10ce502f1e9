package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet"
	"freshet/lab"
	"freshet/policy"
	"freshet/sched"
	"freshet/synth"
)

// wordOf returns what a sitemap of the synthetic web says at a moment that it had not said
// when it was last seen; nil if the page is none. This is what whoever reads it has to find.
func wordOf(w *synth.Web, id freshet.SourceID, said map[freshet.SourceID][]synth.Listed, at time.Time) *freshet.Word {
	now := w.Listed(id, at)
	if now == nil {
		return nil
	}
	word := &freshet.Word{Kind: freshet.SitemapIndex}
	for _, p := range w.Pages() {
		if p.ID == id && p.Listing.Cut {
			word.From = freshet.SilentFrom()
		}
	}
	for i, l := range now {
		if before := said[id]; before == nil || !before[i].Date.Equal(l.Date) {
			word.Pages = append(word.Pages, freshet.PageWord{Page: freshet.PageKeyOf(w.URL(l.Page)), Date: l.Date})
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

// Sitemaps that tell the truth, that lie, and that stop half-way: what the daemon reads in
// them is what is there, and it polls, finds and learns as the lab does.
func TestLabAgreesWithDaemonOnIndexes(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as in a bubble
	bare, _ := mapped(nil).pollsInLab(t, policy.Default, start)
	without := mapped(nil).captured(start, bare)
	t.Logf("no sitemaps: %d polls, %.3f captured", len(bare), without.Recall())
	for _, tt := range []struct {
		name    string
		listing synth.Listing
	}{
		{"true", synth.Listing{}},
		{"changes without dates", synth.Listing{Mute: true}},
		{"dates without changes", synth.Listing{Mute: true, Stamps: synth.Poisson{Mean: 2 * time.Minute}}},
		{"true at first", synth.Listing{Until: 90 * time.Minute}},
		{"cut", synth.Listing{Cut: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := mapped(&tt.listing)
			polls, maps := sc.agree(t, policy.Default, 1700), 0
			for _, o := range polls {
				if strings.HasSuffix(string(o.Source), ".map") {
					maps++
				}
			}
			with := sc.captured(start, polls)
			t.Logf("%d polls, %d of them of sitemaps, %.3f captured", len(polls), maps, with.Recall())
		})
	}
}
