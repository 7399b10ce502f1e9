package ui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
)

// A page follows a query with the EventSource of the browser. The daemon goes
// away, matches something meanwhile, and comes back: the browser asks again by itself, after
// the last event that it had, and is told each match once and in order.
func TestBrowserFollowsAQuery(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/page", "<p>one</p>")
	r.watch(client.NewSource{ID: "page", URL: r.web.URL + "/page"})
	if _, err := r.api.Queries.Add(t.Context(), client.QueryToAdd{NewQuery: client.NewQuery{Name: "any"}}); err != nil {
		t.Fatal(err)
	}
	b := r.tab(800, 600, "light")
	b.visit("/", "document.querySelector('h1')")
	eval[bool](b, `window.got = [], window.opened = 0,
		window.stream = new EventSource('/api/v1/queries/any/matches/stream'),
		stream.onopen = () => { window.opened++ },
		stream.addEventListener('match', e => got.push(JSON.parse(e.data).number + ' ' + e.lastEventId)), true`)
	b.await("window.opened == 1")
	change := func(text string) {
		t.Helper()
		r.change("/page", "page", "<p>"+text+"</p>")
	}
	change("two")
	b.await("got.length == 1")

	at := strings.TrimPrefix(r.url, "http://")
	r.stop()
	r.settings.API.Listen = "127.0.0.1:0"
	r.serve()
	change("three")
	r.matched("any", 2)
	r.stop()
	r.settings.API.Listen = at
	r.serve()
	b.await("window.opened == 2 && got.length == 2")
	change("four")
	b.await("got.length == 3")

	var want []string
	for _, m := range r.matched("any", 3) {
		want = append(want, fmt.Sprintf("%d %s", m.Number, m.Cursor))
	}
	if got := eval[[]string](b, "got"); !slices.Equal(got, want) {
		t.Errorf("the browser was told %q, want %q", got, want)
	}
}

// matched waits until a query has matched so often, and returns its matches.
func (r *rig) matched(query string, n int) []client.Match {
	r.Helper()
	for {
		page, err := r.api.Queries.Matches(r.Context(), query, client.MatchQuery{})
		if err != nil {
			r.Fatal(err)
		}
		if len(page.Items) >= n {
			return page.Items
		}
		if _, err := r.api.Queries.Matches(r.Context(), query, client.MatchQuery{After: page.Next, Wait: 10 * time.Second}); err != nil {
			r.Fatal(err)
		}
	}
}
