package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks/delivery"
	"freshet/internal/test/kit"
)

// ids returns the IDs of the events that a chat was sent as plain JSON.
func (c *chat) ids(t *testing.T) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		var e struct{ ID string }
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Errorf("%s cannot be read: %v", body, err)
		}
		name, _, _ := strings.Cut(e.ID, "~")
		ids = append(ids, name)
	}
	return ids
}

// A sink follows queries over the API: what it is told, replays, letters, and that a query
// is not removed under it.
func TestSinksFollowQueries(t *testing.T) {
	var run *queries.Runner
	var all *delivery.Sinks
	r := newRig(t, func(c *api.Config) {
		run = queries.NewRunner(queries.RunnerConfig{Store: c.Store, Queries: c.QueryStore, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		all = sinksOf(t, c)
		c.Queries, c.Sinks = run, all
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	if err := all.Run(t.Context(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	defer all.Stop()
	chat := newChat(t)
	r.add("page", "/page")
	r.tell("page", "nothing\n", freshet.Fields{"price": 20.0}, nil)

	settled := func() { // a receiver has a message before that is on record
		t.Helper()
		kit.Until(t, "nothing is pending", func() bool {
			var s client.SinkInfo
			r.do("GET", "/api/v1/sinks/deals", nil).is(200).into(&s)
			return s.Standing.Open == 0
		})
		for len(chat.came) > 0 {
			<-chat.came
		}
	}
	var bad client.Problem
	r.do("PUT", "/api/v1/sinks/deals", client.NewSink{Kind: "json", URL: chat.URL, Queries: []string{"cheap"}}).is(422).into(&bad)
	if len(bad.Errors) != 1 || bad.Errors[0].Location != "body.queries[0]" || !strings.Contains(bad.Errors[0].Message, "there is no query cheap") {
		t.Errorf("that there is no such query is told as %+v", bad)
	}
	r.do("POST", "/api/v1/queries", map[string]any{"name": "Cheap", "when": "now.price < before.price", "value": "now.price"}).is(201)
	r.do("POST", "/api/v1/queries", map[string]any{"name": "Pairs", "when": "now.price < before.price", "digest": 2}).is(201)
	r.do("PUT", "/api/v1/sinks/deals", client.NewSink{Kind: "json", URL: chat.URL, Queries: []string{"cheap"}, Tags: []string{"x"}}).is(422)
	r.do("PUT", "/api/v1/sinks/deals", client.NewSink{Kind: "json", URL: chat.URL, Queries: []string{"cheap"}, Template: "{{range .Entries}}{{.Nothing}}{{end}}"}).is(422)
	var s client.SinkInfo
	r.do("PUT", "/api/v1/sinks/deals", client.NewSink{Kind: "json", URL: chat.URL, Queries: []string{"pairs", "cheap"}}).is(200).into(&s)
	if !slices.Equal(s.Queries, []string{"cheap", "pairs"}) {
		t.Errorf("the sink is %+v", s)
	}

	for i, price := range []float64{19, 25, 18} { // the second is no match
		r.tell("page", fmt.Sprintf("for %v\n", price), freshet.Fields{"price": price}, nil)
		if i != 1 {
			<-chat.came
		}
	}
	<-chat.came
	got := chat.ids(t)
	slices.Sort(got)
	if want := []string{"cheap.1", "cheap.2", "pairs.1-2"}; !slices.Equal(got, want) {
		t.Fatalf("the sink was told %v, want %v", got, want)
	}
	if i := slices.IndexFunc(chat.bodies, func(b string) bool { return strings.Contains(b, `"id":"cheap.1~`) }); !strings.Contains(chat.bodies[i], `"value":19`) || !strings.Contains(chat.bodies[i], `+for 19`) {
		t.Errorf("a match was told as %s", chat.bodies[i])
	}

	r.do("DELETE", "/api/v1/queries/cheap", nil).is(409).into(&bad)
	if !strings.Contains(bad.Detail, "sink deals follows query cheap") || bad.Hint == "" {
		t.Errorf("that a sink follows the query is told as %+v", bad)
	}

	// Everything after a match, or since a time, is told again.
	var page client.MatchPage
	r.do("GET", "/api/v1/queries/cheap/matches", nil).is(200).into(&page)
	chat.clear()
	r.do("POST", "/api/v1/sinks/deals/replay", map[string]any{"after": page.Items[0].Cursor.String()}).is(200)
	<-chat.came
	<-chat.came
	settled()
	if got := chat.ids(t); !slices.Contains(got, "cheap.2") || !slices.Contains(got, "pairs.1-2") {
		t.Errorf("after the first match come %v", got)
	}
	chat.clear()
	r.do("POST", "/api/v1/sinks/deals/replay", map[string]any{"since": time.Now().Add(-time.Hour)}).is(200)
	for range 3 {
		<-chat.came
	}
	r.do("POST", "/api/v1/sinks/deals/replay", map[string]any{"after": "9999~other"}).is(410)

	// What was given up is a letter under its ID.
	settled()
	chat.answer(http.StatusGone)
	r.tell("page", "for 2\n", freshet.Fields{"price": 2.0}, nil)
	<-chat.came
	var letters client.DeadLetterPage
	kit.Until(t, "there is a dead letter", func() bool {
		r.do("GET", "/api/v1/sinks/deals/letters", nil).is(200).into(&letters)
		return len(letters.Items) > 0
	})
	l := letters.Items[0]
	if !strings.HasPrefix(l.ID, "cheap.3~") || l.Query != "cheap" || l.First != 3 || l.Change != nil || !strings.Contains(l.Body, l.ID) {
		t.Errorf("a letter of a match is %+v", l)
	}
	r.do("GET", "/api/v1/sinks/deals/letters?after="+letters.Next, nil).is(200).into(&letters)
	if len(letters.Items) != 0 {
		t.Errorf("after the last letter come %+v", letters)
	}
	chat.answer(200)
	chat.clear()
	r.do("PATCH", "/api/v1/sinks/deals", map[string]any{"url": chat.URL + "/other"}).is(200)
	r.do("POST", "/api/v1/sinks/deals/replay", map[string]any{"letters": []string{l.ID}}).is(200)
	<-chat.came
	if chat.bodies[0] != l.Body {
		t.Errorf("the letter was told again as %s, want %s", chat.bodies[0], l.Body)
	}
	settled()
	var trial client.SinkTrial
	r.do("POST", "/api/v1/sinks/deals/test?preview=true", nil).is(200).into(&trial)
	if !strings.Contains(trial.Body, `"query":"cheap"`) || !strings.Contains(trial.Body, `"diff"`) {
		t.Errorf("the sample of a match is %s", trial.Body)
	}

	// Without queries it follows changes again, and the query can go.
	r.do("PATCH", "/api/v1/sinks/deals", map[string]any{"queries": nil}).is(200)
	r.do("DELETE", "/api/v1/queries/cheap", nil).is(204)
	chat.clear()
	r.tell("page", "for 1\n", freshet.Fields{"price": 1.0}, nil)
	<-chat.came
	if got := chat.ids(t); !slices.Equal(got, []string{"page.5"}) {
		t.Errorf("as a sink of changes it was told %v", got)
	}
}

// clear forgets what the chat was sent.
func (c *chat) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = nil
}
