package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/sinks/delivery"
)

// An alert makes its source, its query and its sink together, or none of them.
func TestAlerts(t *testing.T) {
	var all *delivery.Sinks
	r := newRig(t, func(c *api.Config) {
		all = sinksOf(t, c)
		c.Sinks = all
	})
	chat := newChat(t)
	add := func(body map[string]any) answer { t.Helper(); return r.do("POST", "/api/v1/alerts", body) }
	watch := map[string]any{"id": "shop", "url": "http://shop.example/shop", "name": "Shop"}
	counts := func(sources, queries, sinks int) {
		t.Helper()
		for path, want := range map[string]int{"/api/v1/sources": sources, "/api/v1/queries": queries, "/api/v1/sinks": sinks} {
			list := map[string]any{}
			r.do("GET", path, nil).is(200).into(&list)
			if items, _ := list["items"].([]any); len(items) != want {
				t.Errorf("%s has %d items, want %d", path, len(items), want)
			}
		}
	}

	add(map[string]any{"watch": watch, "when": "price <", "to": chat.URL}).is(422)
	add(map[string]any{"watch": watch, "when": "price < 100", "to": "nobody"}).is(422)
	add(map[string]any{"watch": watch, "when": "price < 100", "to": "ftp://x.example/"}).is(422)
	add(map[string]any{"watch": watch, "when": "price < 100", "to": "me@mail.example"}).is(422)
	counts(0, 0, 0)

	r.do("PUT", "/api/v1/sinks/chat", map[string]any{"kind": "json", "url": chat.URL}).is(200)
	var shown, made client.Alert
	r.do("POST", "/api/v1/alerts/preview", map[string]any{"watch": watch, "when": "price < 100", "to": "chat"}).is(200).into(&shown)
	counts(0, 0, 1)
	add(map[string]any{"watch": watch, "when": "price < 100", "to": "chat"}).is(201).into(&made)
	counts(1, 1, 2)
	if made.Query.When != "now.price < 100" || made.Query.Trigger != "becomes" || made.Sink != "chat-alerts" || made.Query.Words != "price goes below 100" || shown.Query.When != made.Query.When || shown.Sink != made.Sink {
		t.Errorf("it made %+v, and had shown %+v", made, shown)
	}
	if made.Source == nil || made.Query.Scope == nil || len(made.Query.Scope.Sources) != 1 || made.Query.Scope.Sources[0] != "shop" || made.Source.Extract["price"] == nil {
		t.Errorf("it is about %+v, which is %+v", made.Query.Scope, made.Source)
	}
	var sink client.SinkInfo
	r.do("GET", "/api/v1/sinks/chat", nil).is(200).into(&sink)
	if len(sink.Queries) != 0 {
		t.Errorf("the sink of changes follows %v", sink.Queries)
	}

	// A source gets an ID of its own.
	add(map[string]any{"watch": map[string]any{"url": "http://shop.example/other"}, "to": "chat"}).is(201).into(&made)
	counts(2, 2, 2)
	if id := made.Source.ID; id != "shop-example-other" || made.Query.Scope.Sources[0] != id {
		t.Errorf("the source %q is followed by %+v", id, made.Query)
	}

	// The same source again is a conflict, and nothing else is made.
	add(map[string]any{"watch": watch, "when": "price < 50", "to": "chat"}).is(409)
	counts(2, 2, 2)

	// Another alert of it, with a value that is added, goes to the same sink.
	edit := map[string]any{"extract": map[string]any{"stock": "css .stock | number"}}
	add(map[string]any{"source": "shop", "edit": edit, "when": "stock >= 1", "to": "chat"}).is(201).into(&made)
	counts(2, 3, 2)
	if made.Source.Extract["price"] == nil || made.Source.Extract["stock"] == nil {
		t.Errorf("the source extracts %v", made.Source.Extract)
	}
	add(map[string]any{"source": "shop", "id": made.Query.ID, "when": "stock >= 5"}).is(201).into(&made)
	if made.Query.When != "now.stock >= 5" || made.Sink != "chat-alerts" {
		t.Errorf("it was changed to %+v", made)
	}
	counts(2, 3, 2)

	var trial client.SinkTrial
	r.do("POST", "/api/v1/alerts/test", map[string]any{"to": "chat"}).is(200).into(&trial)
	if !trial.Accepted || len(chat.ids(t)) != 1 {
		t.Errorf("the sample: %+v, and %d arrived", trial, len(chat.ids(t)))
	}
	counts(2, 3, 2)
}

// An e-mail address is a sink of its own, by the mail server of the settings.
func TestAlertByMail(t *testing.T) {
	var all *delivery.Sinks
	server := ""
	r := newRig(t, func(c *api.Config) {
		all = sinksOf(t, c)
		c.Sinks = all
		c.Settings = &api.SettingsConfig{Get: func() client.Settings {
			return client.Settings{Items: []client.Setting{{Key: "mail.server", Value: server}}}
		}}
	})
	r.add("page", "/page")
	r.do("PUT", "/api/v1/sinks/mail", map[string]any{"url": "smtp://u:hunter22@mail.example:587/?from=f@mail.example&to=all@mail.example"}).is(200)
	var made client.Alert
	r.do("POST", "/api/v1/alerts", map[string]any{"source": "page", "to": "me@mail.example"}).is(422)
	server = "smtp://mail.example"
	r.do("POST", "/api/v1/alerts", map[string]any{"source": "page", "to": "me@mail.example"}).is(201).into(&made)
	st, err := all.Get(t.Context(), made.Sink)
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sink.Settings; s["to"] != "me@mail.example" || len(s) != 1 || st.Sink.URL != "" || made.Query.When != "" || !strings.HasPrefix(made.Query.Name, "page") && made.Query.Name == "" {
		t.Errorf("%+v is sent to %v", made.Query, s)
	}
	var problem client.Problem
	if r.do("POST", "/api/v1/alerts", map[string]any{"source": "nope", "to": "mail"}).into(&problem); problem.Status != http.StatusNotFound {
		t.Errorf("an alert of no source: %v", errors.New(problem.Detail))
	}
}

// TestAlertPace sets what must last, what is sent again and what is sent together, keeps what an edit does not
// name, and acknowledges.
func TestAlertPace(t *testing.T) {
	var all *delivery.Sinks
	r := newRig(t, func(c *api.Config) {
		all = sinksOf(t, c)
		c.Sinks = all
	})
	r.add("page", "/page")
	chat := newChat(t)
	r.do("PUT", "/api/v1/sinks/chat", map[string]any{"kind": "json", "url": chat.URL}).is(200)
	var ids []string
	for _, tt := range []struct {
		ask  map[string]any
		want string // window, repeat and digest
		code int
	}{
		{map[string]any{"source": "page", "for": "10m", "repeat": "30m"}, `{"lasting":"10m"} 30m <nil>`, 201},
		{map[string]any{"source": "page", "id": true, "for": "0", "repeat": "0"}, `null  <nil>`, 201},
		{map[string]any{"source": "page", "when": "price < 100", "for": "1h", "digest": "daily 08:00"}, `{"for":"1h"}  day`, 201},
		{map[string]any{"source": "page", "id": true, "when": "price < 90"}, `{"for":"1h"}  day`, 201},
		{map[string]any{"source": "page", "when": "stops working", "for": "1h"}, `{"for":"1h"}  <nil>`, 201},
		{map[string]any{"tag": "news", "digest": "hourly"}, `null  hour`, 201},
		{map[string]any{"tag": "news", "when": "price < 100"}, "", 422}, // no source with it has a price
		{map[string]any{"tag": "news", "source": "page"}, "", 422},
		{map[string]any{"source": "page", "for": "soon"}, "", 422},
		{map[string]any{"source": "page", "repeat": "1s"}, "", 422},
		{map[string]any{"source": "page", "digest": "now and then"}, "", 422},
	} {
		tt.ask["to"] = "chat"
		if tt.ask["id"] != nil {
			tt.ask["id"] = ids[len(ids)-1]
		}
		var made client.Alert
		answer := r.do("POST", "/api/v1/alerts", tt.ask).is(tt.code)
		if tt.code != 201 {
			continue
		}
		answer.into(&made)
		ids = append(ids, made.Query.ID)
		window, err := json.Marshal(made.Query.Window)
		if err != nil {
			t.Fatal(err)
		}
		digest, _ := made.Query.Digest.(map[string]any)
		if got := fmt.Sprint(string(window), " ", made.Query.Repeat, " ", digest["every"]); got != tt.want {
			t.Errorf("%v made %s %s, want %s", tt.ask, made.Query.ID, got, tt.want)
		}
	}
	var q client.Query
	r.do("POST", "/api/v1/queries/"+ids[0]+"/acknowledge", map[string]any{}).is(200).into(&q)
	r.do("POST", "/api/v1/queries/nope/acknowledge", map[string]any{}).is(404)
	r.do("PATCH", "/api/v1/queries/"+ids[0], map[string]any{"acknowledged": 5}).is(422)
}
