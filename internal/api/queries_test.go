package api_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// queryRig returns a rig with a page and a runner of queries at work.
func queryRig(t *testing.T) *rig {
	var run *queries.Runner
	r := newRig(t, func(c *api.Config) {
		run = queries.NewRunner(queries.RunnerConfig{Store: c.Store, Queries: c.QueryStore, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		c.Queries = run
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the runner ended with %v", err)
		}
	})
	r.add("page", "/page")
	r.tell("page", "nothing\n", freshet.Fields{"price": 20.0}, nil)
	return r
}

func TestQueries(t *testing.T) {
	r := queryRig(t)
	var q client.Query
	a := r.do("POST", "/api/v1/queries", map[string]any{"name": "Cheap", "when": "now.price < before.price", "value": "now.price", "scope": map[string]any{"sources": []string{"page"}}}).is(201)
	a.into(&q)
	if q.ID != "cheap" || a.Header.Get("Location") != "/api/v1/queries/cheap" || a.Header.Get("ETag") != `"1"` {
		t.Errorf("added as %+v, with the headers %v", q, a.Header)
	}
	if len(q.Warnings) == 0 || !strings.Contains(q.Warnings[0], "price") {
		t.Errorf("that no source extracts a price is told as %q", q.Warnings)
	}
	r.tell("page", "cheaper\n", freshet.Fields{"price": 15.0}, nil)
	var page client.MatchPage
	r.do("GET", "/api/v1/queries/cheap/matches?wait=30s", nil).is(200).into(&page)
	if len(page.Items) != 1 || page.Items[0].Value != 15.0 || page.Items[0].Change == nil || page.Items[0].Change.Seq != 1 || !strings.HasPrefix(page.Items[0].ID, "cheap.1~") {
		t.Fatalf("the matches are %+v", page)
	}
	waiting := r.later("GET", "/api/v1/queries/cheap/matches?wait=30s&after="+page.Next.String())
	r.tell("page", "no cheaper\n", freshet.Fields{"price": 16.0}, nil)
	r.tell("page", "cheapest\n", freshet.Fields{"price": 1.0}, nil)
	(<-waiting).is(200).into(&page)
	if len(page.Items) != 1 || page.Items[0].Number != 2 {
		t.Errorf("after that they are %+v", page)
	}
	r.do("GET", "/api/v1/queries/cheap/matches?after=7~other", nil).is(410)

	var edited client.Query
	r.do("PATCH", "/api/v1/queries/cheap", map[string]any{"when": "now.price > 100.0", "value": nil}, "If-Match", `"9"`).is(412)
	r.do("PATCH", "/api/v1/queries/cheap", map[string]any{"when": "now.price > 100.0", "value": nil}, "If-Match", `"1"`).is(200).into(&edited)
	if q := edited; q.When != "now.price > 100.0" || q.Value != "" || q.Matches != 2 {
		t.Errorf("edited it is %+v", q)
	}
	r.do("PATCH", "/api/v1/queries/cheap", map[string]any{"id": "dear"}).is(422)
	r.do("POST", "/api/v1/queries", map[string]any{"id": "cheap", "name": "x"}).is(409)
	var all struct {
		Items []client.Query `json:"items"`
	}
	r.do("GET", "/api/v1/queries", nil).is(200).into(&all)
	if len(all.Items) != 1 || all.Items[0].ID != "cheap" {
		t.Errorf("the queries are %+v", all)
	}
	r.do("DELETE", "/api/v1/queries/cheap", nil).is(204)
	r.do("GET", "/api/v1/queries/cheap", nil).is(404)
	r.do("GET", "/api/v1/queries/cheap/matches", nil).is(404)
}

// What is wrong with a query is told with its field and place.
func TestWrongQueries(t *testing.T) {
	r := queryRig(t)
	for _, c := range []struct {
		what            string
		body            map[string]any
		location, words string
	}{
		{"no condition", map[string]any{"name": "x", "when": "now.price <"}, "body.when", "line 1, column 12: "},
		{"of another type", map[string]any{"name": "x", "when": "added.size()"}, "body.when", "line 1, column "},
		{"a value", map[string]any{"name": "x", "when": "true", "value": "\n nope.x"}, "body.value", "line 1, column "},
		{"no name", map[string]any{"when": "true"}, "body.name", "no name"},
		{"a digest", map[string]any{"name": "x", "digest": "at noon"}, "body.digest", "at noon"},
		{"a window", map[string]any{"name": "x", "window": map[string]any{"over": "soon"}}, "body.window.over", "soon"},
		{"a time zone", map[string]any{"name": "x", "quiet": "22:00-07:00 Mars/Base"}, "body.quiet.zone", "Mars/Base"},
		{"a beginning", map[string]any{"name": "x", "backfill": "soon"}, "body.backfill", "soon"},
	} {
		var p rest.Problem
		r.do("POST", "/api/v1/queries", c.body).is(422).into(&p)
		if len(p.Errors) != 1 || p.Errors[0].Location != c.location || !strings.Contains(p.Errors[0].Message, c.words) {
			t.Errorf("%s: %+v", c.what, p.Errors)
		}
	}
	var all struct {
		Items []client.Query `json:"items"`
	}
	if r.do("GET", "/api/v1/queries", nil).is(200).into(&all); len(all.Items) != 0 {
		t.Errorf("these are kept: %+v", all.Items)
	}
}

// A query can be tried on what is stored, and begin there.
func TestQueriesOverHistory(t *testing.T) {
	r := queryRig(t)
	for n := range 250 {
		r.tell("page", "x "+strings.Repeat("y", n)+"\n", freshet.Fields{"price": float64(n)}, nil)
	}
	var found client.QueryFinding
	r.do("POST", "/api/v1/queries/test", map[string]any{"when": "int(now.price) % 10 == 3", "value": "now.price", "limit": 5}).is(200).into(&found)
	if found.Scanned != 250 || found.Found != 25 || len(found.Items) != 5 || found.Items[4].Value != 243.0 || found.Items[4].Change == nil {
		t.Errorf("the trial found %+v", found)
	}
	r.do("POST", "/api/v1/queries/test", map[string]any{"when": "true", "since": "1h"}).is(200).into(&found)
	if found.Found != 250 || len(found.Items) != 100 {
		t.Errorf("in the last hour it found %d of %d, and shows %d", found.Found, found.Scanned, len(found.Items))
	}
	r.do("POST", "/api/v1/queries/test", map[string]any{"when": "true", "since": "2100-01-01"}).is(200).into(&found)
	if found.Scanned != 0 {
		t.Errorf("in the next century it looked at %d changes", found.Scanned)
	}
	r.do("POST", "/api/v1/queries", map[string]any{"name": "old", "when": "now.price < 3.0", "trigger": "each", "backfill": "0"}).is(201)
	var page client.MatchPage
	for deadline := time.Now().Add(5 * time.Minute); len(page.Items) < 3 && time.Now().Before(deadline); {
		r.do("GET", "/api/v1/queries/old/matches?wait=1s", nil).is(200).into(&page)
	}
	if len(page.Items) != 3 || page.Items[2].Number != 3 || page.Items[2].Change.Seq != 3 {
		t.Errorf("from the beginning it matched %+v", page)
	}
}

// A stream of matches goes on where it was cut.
func TestMatchStream(t *testing.T) {
	r := queryRig(t)
	r.do("POST", "/api/v1/queries", map[string]any{"name": "all"}).is(201)
	r.do("GET", "/api/v1/queries/none/matches/stream", nil).is(404)
	follow := func(lastID string, n int) (ids []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", r.API.URL+"/api/v1/queries/all/matches/stream?after=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		if lastID != "" {
			req.Header.Set("Last-Event-ID", lastID)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		events := readSSE(bufio.NewScanner(resp.Body))
		for len(ids) < n {
			e, ok := events.next()
			if !ok {
				t.Fatalf("the stream ended after %q", ids)
			}
			if e.event == "match" {
				ids = append(ids, e.id)
			}
		}
		return ids
	}
	for n := range 3 {
		r.capture("page", n)
	}
	first := follow("", 2)
	rest := follow(first[1], 1)
	if len(first) != 2 || rest[0] == first[1] || !strings.HasPrefix(rest[0], "3~") {
		t.Errorf("the stream sent %q and then %q", first, rest)
	}
}
