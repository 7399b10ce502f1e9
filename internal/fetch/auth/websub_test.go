package auth_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
)

// Only who knows the secret of a subscription is believed, and a subscription is
// renewed before it ends.
func TestHubsAreNotBelievedUnsigned(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	var asked []url.Values
	hub := r.server(func(w http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		asked = append(asked, req.Form)
	})
	feed := r.server(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "<"+hub.URL+">; rel=hub")
		fmt.Fprint(w, "<feed/>")
	})
	w := &auth.WebSub{Vault: r.cfg.Vault, Store: r.store, Base: "https://freshet.example", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	r.cfg.WebSub = w
	src := r.add(r.source(`{"id": "feed", "url": "%s"}`, feed.URL))
	poll := func() {
		if _, err := r.client().Fetch(t.Context(), freshet.Request{URL: src.URL, ID: src.ID}); err != nil {
			t.Fatal(err)
		}
	}
	poll()
	poll()
	if len(asked) != 1 {
		t.Fatalf("the hub was asked %d times, want once", len(asked))
	}
	_, token, _ := strings.Cut(asked[0].Get("hub.callback"), "/api/v1/websub/")
	mac := hmac.New(sha1.New, []byte(asked[0].Get("hub.secret")))
	mac.Write([]byte("news"))
	good := fmt.Sprintf("sha1=%x", mac.Sum(nil))
	for signature, want := range map[string]freshet.SourceID{good: "feed", "": "", "sha1=": "", "sha256=" + good[5:]: "", "sha1=" + strings.Repeat("0", 40): ""} {
		if id, err := w.Told(t.Context(), token, signature, []byte("news")); err != nil || id != want {
			t.Errorf("the signature %q stands for %q, %v", signature, id, err)
		}
	}
	if id, _ := w.Told(t.Context(), token, good, []byte("other")); id != "" {
		t.Error("another message is believed")
	}
	if _, err := w.Confirm(t.Context(), token, url.Values{"hub.mode": {"subscribe"}, "hub.topic": {asked[0].Get("hub.topic")}, "hub.challenge": {"x"}}); err != nil {
		t.Fatal(err)
	}
	for _, days := range []time.Duration{7, 1} { // of 10: not yet, then in time
		now = now.Add(days * 24 * time.Hour)
		poll()
	}
	if len(asked) != 2 {
		t.Errorf("after 8 of 10 days the hub was asked %d times, want twice", len(asked))
	}
}
