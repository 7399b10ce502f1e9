package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/learn/imported"
	"freshet/internal/queries"
)

// Every list comes in pages: each item once, in an order, also when others come and go in
// between; and the client of Go programs reads them to the end.
func TestListsInPages(t *testing.T) {
	g := newGateRig(t)
	ada := g.session("ada")
	for i := range 7 {
		name := fmt.Sprintf("n%d", i)
		if _, err := queries.NewStore(g.Store.DB()).AddQuery(t.Context(), queries.Query{ID: queries.ID(name), Name: name, When: "true", Origin: freshet.FromAPI, From: -1}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.gate.AddUser(t.Context(), auth.User{Name: name, Role: access.Viewer}, "correct horse"); err != nil {
			t.Fatal(err)
		}
		g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: name, Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
		g.pass(auth.Credential{Kind: auth.ShareKind, User: "ada", Name: name, Limit: auth.Limit{Source: "a"}})
		if _, err := g.Daemon.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(name), URL: "https://" + name + ".example/", Site: &crawl.Settings{}, Paused: true}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{"/queries": 9, "/users": 10, "/tokens": 7, "/shares": 7, "/sites": 7} {
		whole, none := g.turned(path, 1000, ada)
		if len(whole) != want || none != 1 {
			t.Errorf("%s has %d items on %d pages, want %d on one", path, len(whole), none, want)
		}
		for _, limit := range []int{1, 3, want} {
			if parts, n := g.turned(path, limit, ada); !slices.Equal(parts, whole) || n != (want+limit-1)/limit {
				t.Errorf("%s by %d gives %v on %d pages, want %v", path, limit, parts, n, whole)
			}
		}
		g.do("GET", "/api/v1"+path+"?limit=0", nil, ada...).is(422)
		g.do("GET", "/api/v1"+path+"?limit=1001", nil, ada...).is(422)
	}

	// What a page ended with can be gone when the next is asked for.
	var first struct{ Next string }
	if err := json.Unmarshal(g.do("GET", "/api/v1/users?limit=4", nil, ada...).is(200).Body, &first); err != nil {
		t.Fatal(err)
	}
	if err := g.gate.RemoveUser(t.Context(), first.Next); err != nil {
		t.Fatal(err)
	}
	rest, _ := g.turnedAfter("/users", 3, first.Next, ada)
	if len(rest) != 6 {
		t.Errorf("after %s, who is gone, come %v", first.Next, rest)
	}
}

// Runs of the lab, and what a source was taught, come in pages, too.
func TestShortListsInPages(t *testing.T) {
	r := newRig(t)
	r.recorded(3)
	for range 5 {
		r.labRun(client.LabRequest{Policies: []string{"uniform"}, Budgets: []string{"1/h"}})
	}
	if runs, pages := r.turned("/lab/runs", 2, nil); !slices.Equal(runs, []string{"5 ", "4 ", "3 ", "2 ", "1 "}) || pages != 3 {
		t.Errorf("the runs come as %v on %d pages", runs, pages)
	}

	c := client.New(r.API.URL, http.DefaultClient.Do)
	var told []imported.UpdateTime
	for i := range 25_000 {
		at := time.Date(2025, 1, 1, 0, i, 0, 0, time.UTC)
		told = append(told, imported.UpdateTime{After: at, Until: at})
	}
	for part := range slices.Chunk(told, 5000) {
		if _, err := c.Sources.ImportTimes(t.Context(), "a", part); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := c.Sources.ImportedTimes(t.Context(), "a"); err != nil || !slices.Equal(all.Times, told) {
		t.Errorf("of 25000 update times %d come, or in another order: %v", len(all.Times), err)
	}
	var page client.TaughtTimes
	r.do("GET", "/api/v1/sources/a/taught?limit=3", nil).is(200).into(&page)
	if !slices.Equal(page.Times, told[:3]) || page.Next == "" {
		t.Errorf("a page of three is %v, next %q", page.Times, page.Next)
	}
}

// turned turns the pages of a list, and returns the names of all its items and on how many pages they were.
func (g *rig) turned(path string, limit int, header []string) (names []string, pages int) {
	g.t.Helper()
	return g.turnedAfter(path, limit, "", header)
}

func (g *rig) turnedAfter(path string, limit int, after string, header []string) (names []string, pages int) {
	g.t.Helper()
	for {
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		g.do("GET", fmt.Sprintf("/api/v1%s?limit=%d&after=%s", path, limit, url.QueryEscape(after)), nil, header...).is(200).into(&page)
		for _, item := range page.Items {
			var one struct{ ID, Name string }
			if err := json.Unmarshal(item, &one); err != nil {
				g.t.Fatal(err)
			}
			names = append(names, one.ID+" "+one.Name)
		}
		if pages++; page.Next == "" || pages > 50 {
			return names, pages
		}
		after = page.Next
	}
}

// The polls that somebody asked for come in pages, too, and a token for a tag sees those of
// its sources.
func TestWantedPollsInPages(t *testing.T) {
	g := newGateRig(t)
	ed := g.session("ed")
	for _, id := range []string{"a", "b"} {
		g.do("PATCH", "/api/v1/sources/"+id, `{"paused": true}`, ed...).is(200)
	}
	g.run()
	var all []string
	for i := range 5 {
		id := fmt.Sprintf("n%d", i)
		g.Origin.Put("/"+id, "text/plain", id)
		s := map[string]any{"id": id, "url": g.Origin.URL + "/" + id, "min_gap": "24h"} // so that a second poll waits
		if i%2 == 0 {
			s["tags"] = []string{"shop"}
		}
		g.do("POST", "/api/v1/sources", s, ed...).is(201)
		g.do("POST", "/api/v1/sources/"+id+"/poll?now=true", nil, ed...).is(200)
		all = append(all, id)
	}
	g.do("POST", "/api/v1/polls", nil, ed...).is(200)
	wanted := func(query string, header []string) (ids []string, pages int) {
		for next := ""; ; {
			var page client.Wanted
			g.do("GET", "/api/v1/polls?after="+next+query, nil, header...).is(200).into(&page)
			for _, h := range page.Items {
				ids = append(ids, string(h.Source))
			}
			if pages++; page.Next == "" {
				return ids, pages
			}
			next = page.Next
		}
	}
	_, token := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ed", Name: "t", Limit: auth.Limit{Scopes: []access.Right{access.Read}, Tag: "shop"}})
	for _, tt := range []struct {
		query  string
		header []string
		want   []string
		pages  int
	}{
		{"", ed, all, 1},
		{"&limit=2", ed, all, 3},
		{"&tag=shop", ed, []string{"n0", "n2", "n4"}, 1},
		{"", token, []string{"n0", "n2", "n4"}, 1},
		{"&limit=1", token, []string{"n0", "n2", "n4"}, 3},
		{"&tag=none", ed, nil, 1},
	} {
		if got, pages := wanted(tt.query, tt.header); !slices.Equal(got, tt.want) || pages != tt.pages {
			t.Errorf("with %q the polls of %v are wanted on %d pages, want %v on %d", tt.query, got, pages, tt.want, tt.pages)
		}
	}
}
