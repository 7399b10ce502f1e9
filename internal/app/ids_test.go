package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
)

// A webhookSeen is a webhook as a receiver saw it that drops repeats.
type webhookSeen struct {
	id, event string
	dropped   bool // an earlier one had the same id
	accepted  bool
	body      string
	before    string // the body that had the id before
}

// careful is a receiver that does as it should: it drops what it has seen, by the
// webhook-id.
func careful(t *testing.T, answer func() int) (url string, deliveries chan webhookSeen) {
	deliveries = make(chan webhookSeen, 100)
	seen := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var event struct{ ID string }
		_ = json.Unmarshal(body, &event)
		d := webhookSeen{id: r.Header.Get("webhook-id"), event: event.ID, body: string(body)}
		d.before, d.dropped = seen[d.id]
		seen[d.id] = d.body
		status := answer()
		d.accepted = status < 300
		w.WriteHeader(status)
		deliveries <- d
	}))
	t.Cleanup(server.Close)
	return server.URL, deliveries
}

func accept() int { return http.StatusNoContent }

// ask makes a request of the API and returns its status and answer.
func ask(t *testing.T, method, url string, body any, header ...string) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, nil // it has no end
	}
	var answer map[string]any
	if text, err := io.ReadAll(resp.Body); err != nil || len(text) > 0 && json.Unmarshal(text, &answer) != nil {
		t.Fatalf("%s %s answered %s with %s (%v)", method, url, resp.Status, text, err)
	}
	return resp.StatusCode, answer
}

// hooked returns settings with one webhook.
func hooked(t *testing.T, url string) config.Settings {
	s := settings(t)
	s.Webhooks = []config.Webhook{{Name: "hook", URL: url, Unsigned: true}}
	return s
}

// started serves a node and adds the source prices.
func started(t *testing.T, s config.Settings) (c *client.Client, api string, stop func()) {
	t.Helper()
	c, at, stop := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }})
	return c, at + "/api/v1", stop
}

func add(t *testing.T, api, url string) {
	t.Helper()
	if status, answer := ask(t, "POST", api+"/sources", map[string]any{"id": "prices", "url": url}); status != http.StatusCreated {
		t.Fatalf("adding prices answered %d: %v", status, answer)
	}
}

// A source that was purged and is added again is told of under new ids, so that a
// receiver that drops repeats drops nothing.
func TestPurgedSourceHasNewIDs(t *testing.T) {
	t.Parallel()
	url, text := page(t)
	hook, deliveries := careful(t, accept)
	c, api, _ := started(t, hooked(t, hook))
	var events []string
	for life, to := range []string{"two\n", "three\n", "four\n"} {
		add(t, api, url)
		change(t, c, "prices", text, to)
		d := <-deliveries
		if d.dropped {
			t.Errorf("in life %d the change has the webhook-id %s of another one:\nnow  %s\nthen %s", life+1, d.id, d.body, d.before)
		}
		events = append(events, d.event)
		_, versions := ask(t, "GET", api+"/sources/prices/versions", nil)
		newest := versions["items"].([]any)[0].(map[string]any)
		if got := fmt.Sprint(newest["number"]); got != fmt.Sprint(2*life+2) {
			t.Errorf("in life %d the newest version is number %s, want %d", life+1, got, 2*life+2)
		}
		if status, answer := ask(t, "DELETE", api+"/sources/prices?purge=true", nil); status != http.StatusNoContent {
			t.Fatalf("the purge answered %d: %v", status, answer)
		}
	}
	if events[0] == events[1] || events[1] == events[2] || events[0] == events[2] {
		t.Errorf("the three changes are %v, want three ids", events)
	}
}

// After an older file was put back with the daemon down, everything that is told is
// told under new ids, and whoever has a cursor from the time that is lost hears of
// it, however far the log has grown meanwhile.
func TestRestoredFile(t *testing.T) {
	t.Parallel()
	url, text := page(t)
	hook, deliveries := careful(t, accept)
	s := hooked(t, hook)
	file, copied := filepath.Join(s.Data, "freshet.db"), filepath.Join(t.TempDir(), "copy.db")

	c, api, stop := started(t, s)
	add(t, api, url)
	change(t, c, "prices", text, "two\n")
	kept := <-deliveries
	stop()
	copyFile(t, file, copied)

	c, api, stop = started(t, s)
	var lost []webhookSeen
	for _, to := range []string{"three\n", "four\n"} {
		change(t, c, "prices", text, to)
		lost = append(lost, <-deliveries)
	}
	_, page := ask(t, "GET", api+"/changes?after=0", nil)
	cursor := fmt.Sprint(page["next"])
	stop()
	copyFile(t, copied, file)

	c, api, _ = started(t, s)
	checkRefused(t, api, cursor, "before the log has grown")
	told := kept.body + lost[0].body + lost[1].body
	for _, to := range []string{"five", "six", "seven"} {
		change(t, c, "prices", text, to+"\n")
		for d := (webhookSeen{}); !strings.Contains(d.body, to); { // others may come again, as they were
			d = <-deliveries
			if d.dropped && d.body != d.before {
				t.Errorf("after the restore the change %s has the webhook-id of another one:\nnow  %s\nthen %s", d.event, d.body, d.before)
			}
			told += d.body
		}
	}
	resume := checkRefused(t, api, cursor, "when the log has grown past it")
	status, page := ask(t, "GET", api+"/changes?after="+resume, nil)
	items, _ := page["items"].([]any)
	if status != http.StatusOK || len(items) < 4 {
		t.Errorf("whoever goes on after %s as told gets %d: %v, want all changes that there are", resume, status, page)
	}
	for _, item := range items {
		if to := item.(map[string]any)["to"].(string); !strings.Contains(told, to) {
			t.Errorf("the receiver never heard of %v", item)
		}
	}
}

// checkRefused wants a cursor to be answered with 410, by lists and by streams, and
// returns where to go on.
func checkRefused(t *testing.T, api, cursor, when string) (resume string) {
	t.Helper()
	resume = "0"
	for _, path := range []string{"/changes?after=" + cursor, "/changes?wait=30s&after=" + cursor, "/changes/stream?after=" + cursor} {
		status, problem := ask(t, "GET", api+path, nil)
		if gone, ok := problem["gone"].(map[string]any); ok {
			resume = fmt.Sprint(gone["resume"])
		}
		if status != http.StatusGone || problem["hint"] == nil {
			t.Errorf("%s, %s is answered with %d: %v, want 410 and what to do", when, path, status, problem)
		}
	}
	if status, _ := ask(t, "GET", api+"/changes/stream", nil, "Last-Event-ID", cursor); status != http.StatusGone {
		t.Errorf("%s, a stream that comes back with Last-Event-ID %s is answered with %d, want 410", when, cursor, status)
	}
	return resume
}

// copyFile copies a database of which nobody holds a log.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(to + beside); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What goes out under one webhook-id is the same bytes on every attempt, whatever
// becomes of the source, the settings and the daemon meanwhile.
func TestAttemptsAreTheSameBytes(t *testing.T) {
	t.Parallel()
	url, text := page(t)
	var healthy atomic.Bool
	hook, deliveries := careful(t, func() int {
		if healthy.Load() {
			return http.StatusNoContent
		}
		return http.StatusServiceUnavailable
	})
	s := hooked(t, hook)
	c, api, stop := started(t, s)
	add(t, api, url)
	change(t, c, "prices", text, "two\n")
	first := <-deliveries
	stop()

	s.API.URL = "https://elsewhere.example"
	_, api, _ = started(t, s)
	if status, answer := ask(t, "PATCH", api+"/sources/prices", map[string]any{"name": "Another", "tags": []string{"x"}, "url": url + "/moved"}); status != http.StatusOK {
		t.Fatalf("the edit answered %d: %v", status, answer)
	}
	if status, answer := ask(t, "DELETE", api+"/sources/prices", nil); status != http.StatusNoContent {
		t.Fatalf("the removal answered %d: %v", status, answer)
	}
	healthy.Store(true)
	for last := first; !last.accepted; {
		last = <-deliveries
		if last.id != first.id || !last.dropped {
			t.Errorf("another attempt has the webhook-id %s, want %s", last.id, first.id)
		}
		if last.body != first.body {
			t.Errorf("two attempts under one id differ:\n%s\n%s", first.body, last.body)
		}
	}
}
