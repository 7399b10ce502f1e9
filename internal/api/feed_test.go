package api_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mmcdole/gofeed"

	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// Feeds are read by a parser that others wrote, from the newest entry to the oldest, with
// the diff in each.
func TestFeeds(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Base = "https://freshet.example" }).run()
	for _, id := range []string{"a", "b"} {
		r.Origin.Put("/"+id, "text/plain", "first\n")
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id, "name": "Page " + id, "tags": []string{"tag-" + id, "all&sundry"}}).is(201)
		r.poll(id)
	}
	for n := range 5 {
		for _, id := range []string{"a", "b"} {
			r.Origin.Put("/"+id, "text/plain", fmt.Sprintf("<b>%s %d</b>\x01\n", id, n))
			r.poll(id)
		}
	}
	if _, err := queries.NewStore(r.Store.DB()).AddQuery(t.Context(), queries.Query{ID: "qa", Name: "Of a", From: -1}); err != nil {
		t.Fatal(err)
	}
	changes, err := r.Store.Changes(t.Context(), freshet.ChangeQuery{Source: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var step queries.Step
	for i, c := range changes {
		step.Matches = append(step.Matches, queries.Match{Query: "qa", Number: int64(i + 1), Cause: queries.MatchChange, Source: "a", At: c.Before, Known: c.Before, Changes: []freshet.ChangeRef{c.Ref()}})
	}
	if err := queries.NewStore(r.Store.DB()).CommitStep(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path    string
		entries int
		pages   int
	}{
		{"/api/v1/feed.%s?limit=3", 10, 4}, {"/api/v1/feed.%s", 10, 1}, {"/api/v1/feed.%s?tag=tag-a&limit=2", 5, 3}, {"/api/v1/feed.%s?tag=all%%26sundry", 10, 1},
		{"/api/v1/feed.%s?tag=none", 0, 1}, {"/api/v1/sources/a/feed.%s", 5, 1}, {"/api/v1/sources/b/feed.%s?limit=2", 5, 3},
		{"/api/v1/queries/qa/feed.%s?limit=2", 5, 3}, {"/api/v1/queries/qa/feed.%s", 5, 1}, {"/api/v1/queries/qa/feed.%s?before=1", 0, 1},
	}
	for _, tt := range tests {
		for _, form := range []string{"atom", "rss", "json"} {
			next, pages, ids := fmt.Sprintf(tt.path, form), 0, map[string]bool{}
			for next != "" && pages < 10 {
				got := r.do("GET", next, nil).is(200)
				r.do("GET", next, nil, "If-None-Match", got.Header.Get("ETag")).is(304)
				feed, err := gofeed.NewParser().Parse(bytes.NewReader(got.Body))
				if err != nil {
					t.Fatalf("%s: %v\n%s", next, err, got.Body)
				}
				for i, item := range feed.Items {
					if ids[item.GUID] {
						t.Errorf("%s has %s twice", tt.path, item.GUID)
					}
					ids[item.GUID] = true
					if i > 0 && item.Custom == nil && item.PublishedParsed != nil && item.PublishedParsed.After(*feed.Items[i-1].PublishedParsed) {
						t.Errorf("%s is newer than the entry before", item.GUID)
					}
					if form != "json" && !slices.ContainsFunc(item.Links, func(l string) bool { return strings.Contains(l, "/versions?to=") }) && !strings.Contains(string(got.Body), "/versions?to=") {
						t.Errorf("%s has no link to the diff", item.GUID)
					}
					if text := item.Content; !strings.Contains(text, "+ &lt;b&gt;") || strings.Contains(text, "<b>") || !strings.HasPrefix(item.Title, "Page ") || !strings.HasSuffix(item.Title, " changed") {
						t.Errorf("an entry is %q with %q", item.Title, text)
					}
				}
				next = ""
				for _, link := range strings.Split(string(got.Body), `"`) {
					if strings.HasPrefix(link, "https://freshet.example/") && strings.Contains(link, "before=") {
						next = strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(link, "https://freshet.example"), "&amp;", "&"), `\u0026`, "&")
					}
				}
				pages++
			}
			if len(ids) != tt.entries || pages != tt.pages {
				t.Errorf("%s as %s has %d entries in %d pages, want %d in %d", tt.path, form, len(ids), pages, tt.entries, tt.pages)
			}
		}
	}
	r.do("GET", "/api/v1/sources/nobody/feed.atom", nil).is(404)
	r.do("GET", "/api/v1/queries/nobody/feed.atom", nil).is(404)
	r.do("GET", "/api/v1/feed.atom?before=x", nil).is(422)
}
