package api_test

import (
	"net/url"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
)

func TestSearch(t *testing.T) {
	r := newRig(t)
	r.past(map[freshet.SourceID][]string{"a": {"The pump\nprice 10", "The pump\nprice 11", "sold out"}}, "shop")
	r.past(map[freshet.SourceID][]string{"b": {"a pump as well"}}, "news")
	ask := func(query string) (page client.SearchPage) {
		t.Helper()
		r.do("GET", "/api/v1/search?"+query, nil).is(200).into(&page)
		return page
	}
	if page := ask("q=pump"); len(page.Items) != 0 || page.Waiting != 4 {
		t.Errorf("before the index is made %d hits are told, and %d versions wait", len(page.Items), page.Waiting)
	}
	if _, err := r.Store.Index(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	page := ask("q=pump&tag=shop")
	if len(page.Items) != 1 || page.Total != 1 || page.Waiting != 0 || page.Next != nil {
		t.Fatalf("a search finds %+v", page)
	}
	h := page.Items[0]
	if h.Source != "a" || h.First != 1 || h.Last != 2 || h.Versions != 2 || h.Current || h.Until.Hour() != 14 || h.Since.Hour() != 12 {
		t.Errorf("the hit is %+v", h)
	}
	if p := h.Passages[0]; p.Text != "The pump" || len(p.Marks) != 1 || p.Text[p.Marks[0].From:p.Marks[0].To] != "pump" {
		t.Errorf("it is shown as %+v", h.Passages)
	}
	if page := ask("q=pump&limit=1"); len(page.Items) != 1 || page.Total != 2 || page.Next == nil || *page.Next != 1 {
		t.Errorf("the first page is %+v", page)
	}
	if page := ask("q=pump&current=true&sort=newest"); len(page.Items) != 1 || page.Items[0].Source != "b" {
		t.Errorf("there now is %+v", page)
	}
	if page := ask("q=pump&source=a&since=2026-03-01T14:00:00Z"); len(page.Items) != 0 {
		t.Errorf("what had gone before is found: %+v", page)
	}
	for query, want := range map[string]string{
		"q=" + url.QueryEscape(`(pump`): "a ( without a )",
		"q=" + url.QueryEscape(`-pump`): "not wanted",
		"":                              "required",
		"q=a&sort=worst":                "sort",
		"q=a&since=then":                "query.since",
	} {
		if a := r.do("GET", "/api/v1/search?"+query, nil).is(422); !strings.Contains(string(a.Body), want) {
			t.Errorf("%s is refused with %s", query, a.Body)
		}
	}
	r.do("GET", "/api/v1/search?q=pump&source=none", nil).is(404)

	off := newRig(t, func(c *api.Config) { c.Search.Off = true })
	off.do("GET", "/api/v1/search?q=pump", nil).is(501)
}
