package synth_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sites/sitemap"
)

// What a sitemap says is what it is meant to say, of the pages of its host alone, and it
// has a new version exactly when that changes.
func TestSitemaps(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	after := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for _, tt := range []struct {
		name    string
		listing synth.Listing
		changes []time.Time // of the sitemap in the first minute
		want    []time.Time // of a, b, c and d after 35 seconds
	}{
		{"true", synth.Listing{}, []time.Time{after(7), after(14), after(20.5), after(21), after(28), after(35), after(40.5), after(42), after(49), after(56)},
			[]time.Time{after(35), after(20.5), start, after(28)}},
		{"mute", synth.Listing{Mute: true}, nil, []time.Time{start, start, start, start}},
		{"stamped", synth.Listing{Mute: true, Stamps: synth.Regular{Every: 25 * time.Second}}, []time.Time{after(25), after(50)},
			[]time.Time{after(25), after(25), after(25), after(25)}},
		{"stamped and true", synth.Listing{Stamps: synth.Regular{Every: 25 * time.Second}},
			[]time.Time{after(7), after(14), after(20.5), after(21), after(25), after(28), after(35), after(40.5), after(42), after(49), after(50), after(56)},
			[]time.Time{after(35), after(25), after(25), after(28)}},
		{"ends", synth.Listing{Until: 20 * time.Second}, []time.Time{after(7), after(14)}, []time.Time{after(14), start, start, after(14)}},
		{"cut", synth.Listing{Cut: true}, []time.Time{after(7), after(14), after(20.5), after(21), after(28), after(35), after(40.5), after(42), after(49), after(56)},
			[]time.Time{after(35), after(20.5)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := synth.New(synth.Config{Seed: 1, Start: start, Pages: []synth.Page{
				{ID: "map", Host: "h", Form: synth.Sitemap, Listing: tt.listing},
				{ID: "a", Host: "h", Schedule: synth.Regular{Every: 7 * time.Second}},
				{ID: "b", Host: "h", Schedule: synth.Regular{Every: 20 * time.Second, Offset: 20500 * time.Millisecond}},
				{ID: "c", Host: "h"}, {ID: "d", Host: "h", Schedule: synth.Regular{Every: 14 * time.Second}},
				{ID: "z", Host: "elsewhere", Schedule: synth.Regular{Every: time.Second}},
			}})
			if diff := cmp.Diff(tt.changes, w.Changes("map", start, after(60))); diff != "" {
				t.Errorf("the sitemap changes (-want +got):\n%s", diff)
			}
			ids := []freshet.SourceID{"a", "b", "c", "d"}
			var want []synth.Listed
			for i, date := range tt.want {
				want = append(want, synth.Listed{Page: ids[i], Date: date})
			}
			if diff := cmp.Diff(want, w.Listed("map", after(35))); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
			read := map[string]time.Time{}
			summary, err := sitemap.Read(bytes.NewReader(w.Body("map", w.VersionAt("map", after(35)), after(35))), sitemap.Options{}, func(e sitemap.Entry) error {
				read[e.URL] = e.LastMod.Time
				return nil
			})
			if summary.Complete == tt.listing.Cut || (err != nil) && !tt.listing.Cut {
				t.Errorf("the sitemap is read to its end: %v (%v)", summary.Complete, err)
			}
			for _, l := range want {
				if got := read[w.URL(l.Page)]; !got.Equal(l.Date) {
					t.Errorf("in the sitemap %s has the date %v, want %v", l.Page, got, l.Date)
				}
			}
			if len(read) != len(want) {
				t.Errorf("the sitemap has %v", read)
			}
		})
	}
}
