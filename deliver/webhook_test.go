package deliver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet"
	"freshet/client"
	"freshet/deliver"
	"freshet/fetch"
)

var update = flag.Bool("update", false, "write the golden files anew")

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes, or so"))

// secretOf returns a secret with a key of so many bytes.
func secretOf(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n)))
}

// send is the way out that webhooks use, with loopback opened.
func send() func(*http.Request) (*http.Response, error) {
	return fetch.NewEgress(fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}).Do
}

// An arrival is a request as an endpoint received it.
type arrival struct {
	header http.Header
	body   []byte
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
		e.arrivals = append(e.arrivals, arrival{r.Header.Clone(), body})
		answer := e.answer
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func event() client.Event {
	seen := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	c := freshet.Change{
		Cursor: 17, Source: "page", Seq: 3, Number: 4,
		From: freshet.HashOf([]byte("old\n")), To: freshet.HashOf([]byte("new\n")),
		After: seen.Add(-time.Hour), Before: seen, Modified: seen.Add(-time.Minute),
		Summary: `+1 -1 line: <b>"new"</b>`,
		Epoch:   "k3f9q2xw",
		Label:   freshet.Label{URL: "http://page.example/?a=1&b=2", Name: "Page", Tags: []string{"news"}},
	}
	return deliver.Envelope(c, "https://freshet.example/")
}

// message returns the event as it is sent.
func message(t testing.TB) deliver.Message {
	body, err := json.Marshal(event())
	if err != nil {
		t.Fatal(err)
	}
	return deliver.Message{ID: event().ID, Body: body}
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
	e := deliver.Envelope(c, "")
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
	h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "hook", URL: e.URL + "/in", Secret: secret, Send: send()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.Send(t.Context(), message(t)); err != nil {
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
	if id := first.header.Get("webhook-id"); id != second.header.Get("webhook-id") || id != deliver.WebhookID("hook", "page.3~k3f9q2xw") {
		t.Errorf("the attempts go by %q and %q", id, second.header.Get("webhook-id"))
	}
	if other := deliver.WebhookID("other", "page.3~k3f9q2xw"); other == deliver.WebhookID("hook", "page.3~k3f9q2xw") {
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
	h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "hook", URL: e.URL, Unsigned: true, Send: send()})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), message(t)); err != nil {
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
		want   *deliver.Refusal // nil means accepted
	}{
		{"ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "thanks") }, nil},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, nil},
		{"accepted with a body without end", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		}, nil},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
		}, &deliver.Refusal{Status: 302}},
		{"error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, "oh no"+strings.Repeat("!", 1000))
		}, &deliver.Refusal{Status: 500, Body: "oh no" + strings.Repeat("!", 195)}},
		{"retry after seconds", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		}, &deliver.Refusal{Status: 429, RetryAfter: 2 * time.Minute}},
		{"retry after for ever", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999999999999999999")
			w.WriteHeader(503)
		}, &deliver.Refusal{Status: 503, RetryAfter: 24 * time.Hour}},
		{"retry after nonsense", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-5")
			w.WriteHeader(503)
		}, &deliver.Refusal{Status: 503}},
		{"retry after a date", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
			w.WriteHeader(503)
		}, &deliver.Refusal{Status: 503, RetryAfter: 24 * time.Hour}},
		{"retry after a date that is past", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")
			w.WriteHeader(503)
		}, &deliver.Refusal{Status: 503}},
		{"an error that is no text", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprint(w, "\xff\xfe no")
		}, &deliver.Refusal{Status: 500, Body: "\uFFFD no"}},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, &deliver.Refusal{Status: 410}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEndpoint(t, tt.answer)
			h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "hook", URL: e.URL, Secret: secret, Send: send()})
			if err != nil {
				t.Fatal(err)
			}
			err = h.Send(t.Context(), message(t))
			got, _ := errors.AsType[*deliver.Refusal](err)
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
	h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "hook", URL: e.URL, Secret: secret, Send: send(), Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), message(t)); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("an endpoint that does not answer gives %v", err)
	}
}

func TestWebhookRefusesPrivateAddresses(t *testing.T) {
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
	h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "hook", URL: e.URL, Secret: secret, Send: fetch.NewEgress(fetch.Config{}).Do})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), message(t)); err == nil || len(e.arrivals) > 0 {
		t.Errorf("a webhook on loopback was sent to (%v) although nobody opened it", err)
	}
}

func TestWebhookConfig(t *testing.T) {
	good := deliver.WebhookConfig{Name: "hook", URL: "https://hook.example/", Secret: secret}
	tests := []struct {
		name   string
		change func(*deliver.WebhookConfig)
		field  string
	}{
		{"good", func(*deliver.WebhookConfig) {}, ""},
		{"no name", func(c *deliver.WebhookConfig) { c.Name = "" }, "name"},
		{"a name with a space", func(c *deliver.WebhookConfig) { c.Name = "a hook" }, "name"},
		{"no URL", func(c *deliver.WebhookConfig) { c.URL = "" }, "url"},
		{"a URL of another scheme", func(c *deliver.WebhookConfig) { c.URL = "ftp://hook.example/" }, "url"},
		{"no secret", func(c *deliver.WebhookConfig) { c.Secret = "" }, "secret"},
		{"a secret without prefix", func(c *deliver.WebhookConfig) { c.Secret = secret[6:] }, "secret"},
		{"a secret that is not base64", func(c *deliver.WebhookConfig) { c.Secret = "whsec_###" }, "secret"},
		{"a short secret", func(c *deliver.WebhookConfig) { c.Secret = "whsec_c2hvcnQ=" }, "secret"},
		{"the longest secret", func(c *deliver.WebhookConfig) { c.Secret = secretOf(64) }, ""},
		{"a secret that is too long", func(c *deliver.WebhookConfig) { c.Secret = secretOf(65) }, "secret"},
		{"the shortest secret", func(c *deliver.WebhookConfig) { c.Secret = secretOf(24) }, ""},
		{"a secret that is too short", func(c *deliver.WebhookConfig) { c.Secret = secretOf(23) }, "secret"},
		{"unsigned", func(c *deliver.WebhookConfig) { c.Secret, c.Unsigned = "", true }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			_, err := deliver.NewWebhook(cfg)
			got := ""
			if f, ok := errors.AsType[*freshet.InvalidError](err); ok {
				got = f.Field
				if strings.Contains(f.Reason, strings.TrimPrefix(cfg.Secret, "whsec_")) && cfg.Secret != "" {
					t.Errorf("the error gives the secret away: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.field {
				t.Errorf("the wrong field is %q, want %q", got, tt.field)
			}
		})
	}
}

// The whole way, from a committed change to an endpoint over HTTP.
func TestFollowerPosts(t *testing.T) {
	r := newRig(t)
	defer r.close()
	arrived := make(chan struct{}, 10)
	fail := true
	e := newEndpoint(t, nil)
	e.answer = func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if fail {
			w.WriteHeader(500)
		}
		fail = false
		arrived <- struct{}{}
	}
	h, err := deliver.NewWebhook(deliver.WebhookConfig{Name: "sink", URL: e.URL, Secret: secret, Send: send()})
	if err != nil {
		t.Fatal(err)
	}
	settled := make(chan deliver.Delivery, 10)
	f, err := deliver.NewFollower(t.Context(), deliver.FollowerConfig{
		Name: "sink", Store: r.store, Send: h.Send, Endpoint: e.URL,
		Observe: func(d deliver.Delivery) { settled <- d },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	r.capture(page)
	<-arrived
	if d := <-settled; d.Err == nil {
		t.Errorf("a delivery answered with 500 counts as made")
	}
	c := r.capture(page)
	<-arrived
	if d := <-settled; d.Err != nil || d.Change.ID() != c.ID() {
		t.Errorf("the second change was told of as %+v", d)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the follower ended with %v", err)
	}
	r.owes(1, 0)
}
