package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// past puts versions of sources into the store of a rig, an hour apart from noon on.
func (r *rig) past(texts map[freshet.SourceID][]string, tags ...string) {
	r.t.Helper()
	for id, list := range texts {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + string(id), "tags": tags}).is(201)
		for i, text := range list {
			at := time.Date(2026, 3, 1, 12+i, 0, 0, 0, time.UTC)
			o := freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Changed, Status: 200, Requests: 1}
			if i == 0 {
				o.Result = freshet.First
			}
			c := &freshet.Capture{
				Recipe: reading.Recipe{}.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Summary: "now " + text,
				Raw: freshet.Raw{Status: 200, Body: []byte(text)}, Fields: freshet.Fields{"price": float64(10 + i)},
			}
			if _, _, err := r.Store.Commit(r.t.Context(), freshet.Record{Outcome: o, Capture: c}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// numbers returns the numbers of a page of versions.
func numbers(t *testing.T, a answer) (list []int) {
	t.Helper()
	var page client.VersionPage
	if err := json.Unmarshal(a.Body, &page); err != nil {
		t.Fatal(err)
	}
	for _, v := range page.Items {
		list = append(list, v.Number)
	}
	return list
}

func TestVersionsInTime(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	r := newRig(t, func(c *api.Config) { c.Now = func() time.Time { return now } })
	r.past(map[freshet.SourceID][]string{"a": {"one", "two", "three", "four"}})
	for query, want := range map[string][]int{
		"":                                     {4, 3, 2, 1},
		"at=2026-03-01T13:30:00Z":              {2},
		"at=2026-03-01T14:00:00%2B01:00":       {2}, // as it was first seen at 13:00
		"at=2d":                                {1}, // at noon two days ago
		"at=2026-03-02":                        {4},
		"since=2026-03-01T14:00:00Z":           {4, 3},
		"until=2026-03-01T14:00:00Z":           {2, 1},
		"since=47h&until=2026-03-01T15:00:00Z": {3, 2},
		"since=1h":                             nil,
		"limit=1&until=2026-03-01T14:00:00Z":   {2},
	} {
		if got := numbers(t, r.do("GET", "/api/v1/sources/a/versions?"+query, nil).is(200)); !slices.Equal(got, want) {
			t.Errorf("with %s the versions are %v, want %v", query, got, want)
		}
	}
	early := r.do("GET", "/api/v1/sources/a/versions?at=2026-03-01", nil).is(404)
	if !strings.Contains(string(early.Body), "first seen at 2026-03-01T12:00:00Z") {
		t.Errorf("before the first version the answer is %s", string(early.Body))
	}
	for _, query := range []string{"at=", "at", "since=", "at=&since=1d", "at=yesterday", "since=x", "until=2026-13-01", "since=1h&until=2h", "at=2d&since=3d", "at=2d&before=3"} {
		r.do("GET", "/api/v1/sources/a/versions?"+query, nil).is(422)
	}
	r.do("GET", "/api/v1/sources/none/versions?at=2d", nil).is(404)
	if empty := r.do("GET", "/api/v1/sources/a/versions?at=", nil).is(422); !strings.Contains(string(empty.Body), `"query.at"`) || strings.Contains(string(empty.Body), "query.since") {
		t.Errorf("an empty time is refused with %s", string(empty.Body))
	}
	r.do("GET", "/api/v1/sources/a/fields/price?at=", nil).is(422)
	for query, want := range map[string]string{
		"at=2026-03-01T13:30:00Z":                            "[11]",
		"until=2026-03-01T14:00:00Z":                         "[11 10]",
		"since=2026-03-01T14:30:00Z&until=2026-03-01T20:00Z": "",
		"since=2026-03-01T14:30:00Z":                         "[13]",
	} {
		a := r.do("GET", "/api/v1/sources/a/fields/price?"+query, nil)
		if want == "" {
			a.is(422)
			continue
		}
		var page client.FieldPage
		if err := json.Unmarshal(a.is(200).Body, &page); err != nil {
			t.Fatal(err)
		}
		var got []any
		for _, v := range page.Items {
			got = append(got, v.Value)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("with %s the values are %v, want %s", query, got, want)
		}
	}
}

func TestChangesInTime(t *testing.T) {
	r := newRig(t)
	r.past(map[freshet.SourceID][]string{"a": {"one", "two", "three", "four"}}, "shop", "eu")
	r.past(map[freshet.SourceID][]string{"b": {"uno", "dos", "tres"}}, "news")
	ask := func(query string) (list []string) {
		t.Helper()
		var page client.ChangesPage
		if err := json.Unmarshal(r.do("GET", "/api/v1/changes?"+query, nil).is(200).Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			list = append(list, fmt.Sprint(c.Source, c.Number))
		}
		return list
	}
	for query, want := range map[string][]string{
		"tag=shop":                                {"a2", "a3", "a4"},
		"tag=news&limit=1":                        {"b2"},
		"since=2026-03-01T14:00:00Z":              {"a3", "a4", "b3"},
		"until=2026-03-01T14:00:00Z&source=a":     {"a2"},
		"since=2026-03-01T14:00:00Z&tag=news":     {"b3"},
		"q=" + url.QueryEscape("three OR tres"):   {"a3", "b3"},
		"q=" + url.QueryEscape("now -three"):      {"a2", "a4", "b2", "b3"},
		"q=fou*&tag=shop":                         {"a4"},
		"site=a":                                  {"a2", "a3", "a4"},
		"site=none":                               nil,
		"tag=none&wait=1ms":                       nil,
		"since=2026-03-02":                        nil,
		"since=2026-03-01&until=2026-03-01T12:30": nil,
	} {
		if got := ask(query); !slices.Equal(got, want) {
			t.Errorf("with %s the changes are %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"q=" + url.QueryEscape("(a"), "q=-a", "since=never", "until=2026-99-99"} {
		r.do("GET", "/api/v1/changes?"+query, nil).is(422)
		r.do("GET", "/api/v1/changes/stream?"+query, nil).is(422)
	}
	// Who finds nothing goes on behind what was looked at.
	var page client.ChangesPage
	if err := json.Unmarshal(r.do("GET", "/api/v1/changes?tag=none", nil).is(200).Body, &page); err != nil {
		t.Fatal(err)
	}
	if end, err := r.Store.LastChange(t.Context()); err != nil || page.Next.Cursor != end {
		t.Errorf("an empty page goes on after %v, want the end %d (%v)", page.Next, end, err)
	}
	c := client.New(r.API.URL, r.API.Client().Do)
	var got []string
	for e, err := range c.Stream(t.Context(), freshet.Place{}, client.ChangeFilter{Tag: "news", Words: "dos OR tres OR two"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, fmt.Sprint(e.Data.Source, e.Data.Number)); len(got) == 2 {
			break
		}
	}
	if !slices.Equal(got, []string{"b2", "b3"}) {
		t.Errorf("the stream brings %v", got)
	}
}
