package sinks_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
	"freshet/internal/test/kit"
)

var update = flag.Bool("update", false, "write the golden files anew")

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes, or so"))

// secretOf returns a secret with a key of so many bytes.
func secretOf(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n)))
}

// send is the way out that webhooks use, with loopback opened.
func send() func(*http.Request) (*http.Response, error) {
	return fetch.NewEgress(kit.Loopback()).Do
}

// config is what outlets are made with, with loopback opened.
func config(change func(*sinks.Config)) sinks.Config {
	settings := kit.Loopback()
	c := sinks.Config{Do: send(), CheckURL: settings.CheckURL, Dial: settings.Dialer, TLS: settings.TLS}
	if change != nil {
		change(&c)
	}
	return c
}

// opened returns the outlet of a sink.
func opened(t *testing.T, s sinks.Sink, change func(*sinks.Config)) *sinks.Outlet {
	t.Helper()
	o, err := sinks.Open(config(change), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// hook returns a webhook at a URL.
func hook(url string) sinks.Sink {
	return sinks.Sink{Name: "hook", Kind: "webhook", URL: profile.Value(url), Settings: map[string]profile.Value{"secret": profile.Value(secret)}}
}

// An arrival is a request as an endpoint received it.
type arrival struct {
	method, url string
	header      http.Header
	body        []byte
}

// An endpoint answers with the status that it is told to.
type endpoint struct {
	*httptest.Server
	mu       sync.Mutex
	answer   http.HandlerFunc
	arrivals []arrival
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading a delivery: %v", err)
		}
		e.mu.Lock()
		e.arrivals = append(e.arrivals, arrival{r.Method, r.URL.String(), r.Header.Clone(), body})
		answer := e.answer
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// change is the change that is told of.
func change() freshet.Change {
	seen := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	return freshet.Change{
		Cursor: 17, Source: "page", Seq: 3, Number: 4,
		From: freshet.HashOf([]byte("old\n")), To: freshet.HashOf([]byte("new\n")),
		After: seen.Add(-time.Hour), Before: seen, Modified: seen.Add(-time.Minute),
		Summary: `+1 -1 line: <b>"new"</b>`,
		Epoch:   "k3f9q2xw",
		Label:   freshet.Label{URL: "http://page.example/?a=1&b=2", Name: "Page", Tags: []string{"news"}},
	}
}

func event() client.Event { return sinks.Envelope(change(), "https://freshet.example/") }

// message returns the event as it is sent.
func message(t testing.TB) sinks.Message {
	body, err := json.Marshal(event())
	if err != nil {
		t.Fatal(err)
	}
	return sinks.Message{ID: event().ID, Body: body}
}

func TestEnvelope(t *testing.T) {
	got, err := json.MarshalIndent(event(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/event.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the envelope differs from %s (-want +got):\n%s", golden, diff)
	}
}

// A change from before labels and epochs were kept.
func TestEnvelopeWithoutALabel(t *testing.T) {
	c := freshet.Change{Source: "page", Seq: 1}
	e := sinks.Envelope(c, "")
	if e.Source != "/api/v1/sources/page" || e.ID != "page.1" {
		t.Errorf("the envelope is from %q under %q", e.Source, e.ID)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"subject", `"url"`, "tags", "modified"} {
		if strings.Contains(string(b), absent) {
			t.Errorf("the envelope names %s: %s", absent, b)
		}
	}
}

func TestWebhookSigns(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := opened(t, hook(e.URL+"/in"), nil)
	for range 2 {
		if _, err := h.Send(t.Context(), message(t)); err != nil {
			t.Fatal(err)
		}
	}
	verifier, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	first, second := e.arrivals[0], e.arrivals[1]
	for _, a := range e.arrivals {
		if err := verifier.Verify(a.body, a.header); err != nil {
			t.Errorf("the signature does not verify: %v", err)
		}
		if err := verifier.Verify(append(a.body, ' '), a.header); err == nil {
			t.Error("the signature verifies another body")
		}
	}
	if string(first.body) != string(second.body) {
		t.Errorf("two attempts differ:\n%s\n%s", first.body, second.body)
	}
	if id := first.header.Get("webhook-id"); id != second.header.Get("webhook-id") || id != sinks.WebhookID("hook", "page.3~k3f9q2xw") {
		t.Errorf("the attempts go by %q and %q", id, second.header.Get("webhook-id"))
	}
	if other := sinks.WebhookID("other", "page.3~k3f9q2xw"); other == sinks.WebhookID("hook", "page.3~k3f9q2xw") {
		t.Errorf("two sinks share the id %s", other)
	}
	if got := first.header.Get("Content-Type"); got != "application/cloudevents+json; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	var got client.Event
	if err := json.Unmarshal(first.body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event(), got); diff != "" {
		t.Errorf("the event arrived otherwise (-sent +got):\n%s", diff)
	}
}

func TestWebhookUnsigned(t *testing.T) {
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
	h := opened(t, sinks.Sink{Name: "hook", Kind: "webhook", URL: profile.Value(e.URL), Settings: map[string]profile.Value{"unsigned": "true"}}, nil)
	if _, err := h.Send(t.Context(), message(t)); err != nil {
		t.Fatal(err)
	}
	if got := e.arrivals[0].header.Get("webhook-signature"); got != "" {
		t.Errorf("an unsigned delivery has the signature %q", got)
	}
}

func TestWebhookAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   *sinks.Refusal // nil means accepted
	}{
		{"ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "thanks") }, nil},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, nil},
		{"accepted with a body without end", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		}, nil},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
		}, &sinks.Refusal{Status: 302}},
		{"error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, "oh no"+strings.Repeat("!", 1000))
		}, &sinks.Refusal{Status: 500, Text: "oh no" + strings.Repeat("!", 195)}},
		{"retry after seconds", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		}, &sinks.Refusal{Status: 429, RetryAfter: 2 * time.Minute}},
		{"retry after for ever", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999999999999999999")
			w.WriteHeader(503)
		}, &sinks.Refusal{Status: 503, RetryAfter: 24 * time.Hour}},
		{"retry after nonsense", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-5")
			w.WriteHeader(503)
		}, &sinks.Refusal{Status: 503}},
		{"retry after a date", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
			w.WriteHeader(503)
		}, &sinks.Refusal{Status: 503, RetryAfter: 24 * time.Hour}},
		{"retry after a date that is past", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")
			w.WriteHeader(503)
		}, &sinks.Refusal{Status: 503}},
		{"an error that is no text", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, "\xff\xfe no")
		}, &sinks.Refusal{Status: 500, Text: "\uFFFD no"}},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, &sinks.Refusal{Status: 410}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEndpoint(t, tt.answer)
			h := opened(t, hook(e.URL), nil)
			_, err := h.Send(t.Context(), message(t))
			got, _ := errors.AsType[*sinks.Refusal](err)
			if got == nil && err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answered otherwise (-want +got):\n%s", diff)
			}
			if len(e.arrivals) != 1 {
				t.Errorf("%d requests for one attempt", len(e.arrivals))
			}
		})
	}
}

func TestWebhookTimeout(t *testing.T) {
	e := newEndpoint(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	h := opened(t, hook(e.URL), func(c *sinks.Config) { c.Timeout = 50 * time.Millisecond })
	if _, err := h.Send(t.Context(), message(t)); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("an endpoint that does not answer gives %v", err)
	}
}

func TestWebhookRefusesPrivateAddresses(t *testing.T) {
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
	h := opened(t, hook(e.URL), func(c *sinks.Config) { c.Do = fetch.NewEgress(fetch.Config{}).Do })
	if _, err := h.Send(t.Context(), message(t)); err == nil || len(e.arrivals) > 0 {
		t.Errorf("a webhook on loopback was sent to (%v) although nobody opened it", err)
	}
}

func TestWebhookConfig(t *testing.T) {
	type set = map[string]profile.Value
	tests := []struct {
		name   string
		change func(*sinks.Sink)
		field  string
	}{
		{"good", func(*sinks.Sink) {}, ""},
		{"no name", func(s *sinks.Sink) { s.Name = "" }, "name"},
		{"a name with a space", func(s *sinks.Sink) { s.Name = "a hook" }, "name"},
		{"no URL", func(s *sinks.Sink) { s.URL = "" }, "url"},
		{"a URL of another scheme", func(s *sinks.Sink) { s.URL = "ftp://hook.example/" }, "url"},
		{"a URL on loopback", func(s *sinks.Sink) { s.URL = "http://10.0.0.1/" }, "url"},
		{"no secret", func(s *sinks.Sink) { s.Settings = nil }, "settings.secret"},
		{"a secret without prefix", func(s *sinks.Sink) { s.Settings = set{"secret": profile.Value(secret[6:])} }, "settings.secret"},
		{"a secret that is not base64", func(s *sinks.Sink) { s.Settings = set{"secret": "whsec_###"} }, "settings.secret"},
		{"a short secret", func(s *sinks.Sink) { s.Settings = set{"secret": "whsec_c2hvcnQ="} }, "settings.secret"},
		{"the longest secret", func(s *sinks.Sink) { s.Settings = set{"secret": profile.Value(secretOf(64))} }, ""},
		{"a secret that is too long", func(s *sinks.Sink) { s.Settings = set{"secret": profile.Value(secretOf(65))} }, "settings.secret"},
		{"the shortest secret", func(s *sinks.Sink) { s.Settings = set{"secret": profile.Value(secretOf(24))} }, ""},
		{"a secret that is too short", func(s *sinks.Sink) { s.Settings = set{"secret": profile.Value(secretOf(23))} }, "settings.secret"},
		{"a secret that is kept elsewhere", func(s *sinks.Sink) { s.Settings = set{"secret": "${secret:hook}"} }, ""},
		{"unsigned", func(s *sinks.Sink) { s.Settings = set{"unsigned": "true"} }, ""},
		{"unsigned by a wrong word", func(s *sinks.Sink) { s.Settings = set{"unsigned": "maybe"} }, "settings.unsigned"},
		{"a setting that there is not", func(s *sinks.Sink) { s.Settings["secrets"] = "x" }, "settings.secrets"},
		{"a kind that there is not", func(s *sinks.Sink) { s.Kind = "webhok" }, "kind"},
		{"a reference that is not closed", func(s *sinks.Sink) { s.Headers = set{"X-A": "${env:A"} }, "headers.X-A"},
		{"a tag that is empty", func(s *sinks.Sink) { s.Tags = []string{" "} }, "tags"},
		{"a source that cannot be", func(s *sinks.Sink) { s.Sources = []freshet.SourceID{"a b"} }, "sources"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := hook("https://hook.example/")
			tt.change(&s)
			_, err := sinks.Open(config(nil), s)
			got, _ := invalid.FieldOf(err)
			if given := string(s.Settings["secret"]); err != nil && len(given) > 8 && strings.Contains(err.Error(), given[6:]) {
				t.Errorf("the error gives the secret away: %v", err)
			}
			if got != tt.field || err != nil && tt.field == "" {
				t.Errorf("the wrong field is %q (%v), want %q", got, err, tt.field)
			}
		})
	}
}
