//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/test/kit"
)

// TestTenQueriesReachASink has pages change under a daemon, and waits until a sink is told
// what the queries of docs/reference/queries.md make of it. Lengths of time are shorter here.
func TestTenQueriesReachASink(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	var mu sync.Mutex
	pages := map[string]string{
		"/price": "<b>120</b>", "/stock": "<b>sold out</b>", "/name": "<p>nobody</p>", "/users": "<b>100</b>", "/status": "<b>green</b>", "/same1": "<p>x</p>", "/same2": "<p>y</p>",
		"/feed": `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>1</id><title>Notes</title></entry></feed>`, "/news": "<p>none</p>", "/lines": "<p>one</p>",
	}
	told := map[string][]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			media := "text/html"
			if r.URL.Path == "/feed" {
				media = "application/atom+xml"
			}
			w.Header().Set("Content-Type", media)
			io.WriteString(w, pages[r.URL.Path])
			return
		}
		body, _ := io.ReadAll(r.Body)
		var e heard
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		told[e.Query] = append(told[e.Query], string(body))
	}))
	defer server.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "freshet.yaml")
	morning := time.Now().Add(2 * time.Minute) // which leaves a slow machine at least one for what comes before
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`data: %s
listen: 127.0.0.1:0
allow_cidr: [127.0.0.0/8]
budget: 60/s
source_gap: 0s
source_share: 100%%
hosts: {delay: 0s, share: 100%%}
policy: uniform
queries:
  - {name: price below, id: price, scope: {sources: [price]}, when: now.v < 100, value: now.v}
  - {name: back in stock, id: stock, scope: {sources: [stock]}, when: 'now.v == "in stock" && before.v != "in stock"'}
  - {name: new item with a keyword, id: keyword, when: 'items.added.exists(i, mentions(i.title, "security"))', value: 'items.added.filter(i, mentions(i.title, "security")).map(i, i.title)'}
  - {name: any of twenty pages mentions a name, id: name, scope: {tags: [twenty]}, when: 'mentions(added, "Ada Lovelace")'}
  - {name: number changed by more than 5%%, id: number, scope: {sources: [users]}, when: 'math.abs(percent(before.v, now.v)) > 5', value: 'percent(before.v, now.v)'}
  - {name: silent for longer than usual, id: silent, scope: {sources: [price]}, window: {silent: 30s}}
  - {name: status not green, id: status, scope: {sources: [status]}, when: 'now.v != "green"', value: now.v, window: {for: 2s}}
  - {name: the same change on several pages, id: same, scope: {tags: [same]}, when: 'first(added, "1d")', window: {by: all}}
  - {name: daily digest, id: daily, scope: {tags: [news]}, digest: "daily %s Europe/Berlin"}
  - {name: only what was never seen, id: unseen, scope: {sources: [lines]}, when: size(unseen(lines(added))) > 0, value: unseen(lines(added)), window: {by: all}}
sinks:
  - {name: hook, kind: json, url: URL/hook, queries: [price, stock, keyword, name, number, silent, status, same, daily, unseen]}
sources:
  - {id: price, url: URL/price, extract: {v: css b | number}}
  - {id: stock, url: URL/stock, extract: {v: css b}}
  - {id: users, url: URL/users, extract: {v: css b | number}}
  - {id: status, url: URL/status, extract: {v: css b}}
  - {id: feed, url: URL/feed}
  - {id: name, url: URL/name, tags: [twenty]}
  - {id: same1, url: URL/same1, tags: [same]}
  - {id: same2, url: URL/same2, tags: [same]}
  - {id: news, url: URL/news, tags: [news]}
  - {id: lines, url: URL/lines}
`, filepath.Join(dir, "data"), morning.In(berlin).Format("15:04"))
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "URL", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, url, log := startKilled(t, path)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	until := func(what string, done func() bool) {
		t.Helper()
		kit.Until(t, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return done()
		})
	}
	until("the first look", func() bool {
		resp, err := http.Get(url + "/api/v1/status")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return strings.Count(log.String(), "msg=captured") >= 10
	})
	change := func(path, to string) {
		mu.Lock()
		defer mu.Unlock()
		pages[path] = to
	}
	for path, to := range map[string]string{
		"/price": "<b>99</b>", "/stock": "<b>in stock</b>", "/name": "<p>A talk on ADA LOVELACE</p>", "/users": "<b>90</b>", "/status": "<b>red</b>", "/same1": "<p>We moved</p>", "/same2": "<p>We moved</p>",
		"/feed": `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>2</id><title>Security update</title></entry><entry><id>1</id><title>Notes</title></entry></feed>`, "/news": "<p>some</p>", "/lines": "<p>two</p>",
	} {
		change(path, to)
	}
	wants := map[string]string{
		"price": `"value":99`, "stock": `"source":"stock"`, "keyword": `"value":["Security update"]`, "name": "ADA LOVELACE", "number": `"value":-9.99`, "silent": `"cause":"silent"`,
		"status": `"cause":"held"`, "same": "We moved", "daily": `"held":"digest"`, "unseen": `"value":["two"]`,
	}
	until("to tell of "+fmt.Sprint(len(wants))+" queries", func() bool {
		for id := range wants {
			if len(told[id]) == 0 {
				return false
			}
		}
		return true
	})
	mu.Lock()
	defer mu.Unlock()
	for id, want := range wants {
		if got := told[id]; len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s was told as %q, want %s once", id, got, want)
		}
	}
	if early := morning.Truncate(time.Minute); time.Now().Before(early) {
		t.Error("the digest was told before its time")
	}
}
