package sinks_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/fetch/secrets"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// TestLinkIsSigned reads what was written until it expires, and nothing that anybody has changed.
func TestLinkIsSigned(t *testing.T) {
	key, other := secrets.Open(t.TempDir()), secrets.Open(t.TempDir())
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := sinks.Link{Action: sinks.Acknowledge, Sink: "mail", Query: "cheap", Number: 7, Expires: now.Add(time.Hour)}
	token, err := l.Token(key.Mac)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sinks.ReadLink(token, key.Mac, now)
	if err != nil || got.Action != l.Action || got.Sink != l.Sink || got.Query != l.Query || got.Number != l.Number || !got.Expires.Equal(l.Expires) {
		t.Errorf("read %+v (%v), want %+v", got, err, l)
	}
	if _, err := sinks.ReadLink(token, other.Mac, now); !errors.Is(err, sinks.ErrLinkInvalid) {
		t.Errorf("another server: %v", err)
	}
	if _, err := sinks.ReadLink(token, key.Mac, l.Expires); !errors.Is(err, sinks.ErrLinkExpired) {
		t.Errorf("too late: %v", err)
	}
	for _, changed := range []sinks.Link{
		{sinks.Stop, l.Sink, l.Query, l.Number, l.Expires}, {l.Action, "chat", l.Query, l.Number, l.Expires}, {l.Action, l.Sink, "dear", l.Number, l.Expires},
		{l.Action, l.Sink, l.Query, 8, l.Expires}, {l.Action, l.Sink, l.Query, l.Number, l.Expires.Add(time.Second)},
	} {
		forged, err := changed.Token(func(string) (string, error) { return token[strings.IndexByte(token, '.')+1:], nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sinks.ReadLink(forged, key.Mac, now); !errors.Is(err, sinks.ErrLinkInvalid) {
			t.Errorf("%+v: %v", changed, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at, c := rapid.IntRange(0, len(token)-1).Draw(t, "at"), rapid.SampledFrom([]string{"", "0", "v", ".", "~", "é"}).Draw(t, "letter")
		forged := token[:at] + c + token[at+1:]
		if forged == token || strings.EqualFold(forged, token) {
			return
		}
		if read, err := sinks.ReadLink(forged, key.Mac, now); !errors.Is(err, sinks.ErrLinkInvalid) && read != got { // bits at the end mean nothing
			t.Errorf("%s: %+v, %v", forged, read, err)
		}
	})
}

// TestFoot has the links that a message needs.
func TestFoot(t *testing.T) {
	vault := secrets.Open(t.TempDir())
	batch := func(repeats bool) sinks.Batch {
		p := sinks.SampleBatch("x", "cheap", 1, time.Now())
		p.Repeats = repeats
		return p
	}
	for _, tt := range []struct {
		name      string
		base      string
		repeats   bool
		ack, stop bool
	}{
		{"without a public URL", "", true, false, false},
		{"an alert", "https://freshet.example", false, false, true},
		{"one that repeats", "https://freshet.example", true, true, true},
	} {
		s := sinks.Sink{Name: "log", Kind: "json", URL: "https://hook.example/", Queries: []queries.ID{"cheap"}, Template: `{"foot":{{json .Foot}}}`}
		o := opened(t, s, func(c *sinks.Config) { c.Base, c.Mac = tt.base, vault.Mac })
		body, err := o.RenderBatch(t.Context(), batch(tt.repeats))
		if err != nil {
			t.Fatal(err)
		}
		if ack, stop := strings.Contains(string(body), "Acknowledge it"), strings.Contains(string(body), "Stop these messages: https://freshet.example/links/"); ack != tt.ack || stop != tt.stop {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}
