package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/objective"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// A reader beside the writer sees every source, also those that were removed.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	look := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer look.Close()
	var want []sqlite.Known
	for i := range 1203 { // more than are read at once
		src := freshet.Source{
			ID: freshet.SourceID(fmt.Sprintf("s%04d", i)), URL: fmt.Sprintf("https://host%d.example/%d", i%7, i), Created: noon,
			Tags: []string{"even", "odd"}[i%2 : i%2+1], Weight: float64(i % 3), Cost: 2, MinGap: time.Minute, MaxGap: time.Hour, Paused: i%5 == 0,
			Life:    objective.Visibility{Kind: objective.VisibleLast, N: 1 + i%4},
			Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.5},
			Level:   objective.ServiceLevel{Share: 0.9, Within: time.Hour},
		}
		added, err := s.AddSource(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, sqlite.Known{Source: added})
	}
	for i := 0; i < len(want); i += 100 {
		if err := s.RemoveSource(t.Context(), want[i].ID, false); err != nil {
			t.Fatal(err)
		}
		want[i].Removed = true
	}
	var got []sqlite.Known
	for k, err := range look.Known(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, k)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is known differs (-want +got):\n%s", diff)
	}
	for range look.Known(t.Context()) {
		break // a reader may stop early
	}
}

// A reader beside the writer sees the pages of sites as they are by now, with what
// their site says by now.
func TestPagesReadOnly(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	site, err := s.AddSource(ctx, freshet.Source{ID: "docs", URL: "https://docs.example/", Site: &crawl.Settings{}})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer r.Close()
	pages := []frontier.Page{{URL: "https://docs.example/1", Found: crawl.ByLink}, {URL: "https://docs.example/2", Found: crawl.ByLink}}
	if _, _, err := frontier.NewStore(s.DB()).AddPages(ctx, "docs", pages); err != nil {
		t.Fatal(err)
	}
	taken, err := frontier.NewStore(s.DB()).PromotePages(ctx, "docs", 1)
	if err != nil {
		t.Fatal(err)
	}
	site.Weight = 7
	if err := s.UpdateSource(ctx, site); err != nil {
		t.Fatal(err)
	}
	for k, err := range r.Known(ctx) {
		if err != nil || k.Weight != 7 {
			t.Errorf("a reader knows %+v: %v", k, err)
		}
	}
	if w, err := r.Source(ctx, taken[0].ID); err != nil || w.Weight != 7 || w.Of != "docs" {
		t.Errorf("a reader sees the page as %+v: %v", w.Source, err)
	}
	if n, err := frontier.NewStore(r.DB()).CountPages(ctx, "docs"); err != nil || n.Waiting != 1 || n.Watched != 1 {
		t.Errorf("a reader counts %+v: %v", n, err)
	}
	if p, err := frontier.NewStore(r.DB()).Page(ctx, "docs", taken[0].URL); err != nil || p.Source != taken[0].ID {
		t.Errorf("a reader sees %+v: %v", p, err)
	}
	if _, _, err := frontier.NewStore(r.DB()).AddPages(ctx, "docs", pages); !errors.Is(err, freshet.ErrStorage) {
		t.Errorf("a reader adds pages: %v", err)
	}
}
