package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// An issuer gives out tokens and serves a page to those who have the last one.
type issuer struct {
	given   atomic.Int64
	answer  func(w http.ResponseWriter, n int64) // instead of a token
	expires int
}

func (i *issuer) serve(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/token" {
		user, password, _ := req.BasicAuth()
		_ = req.ParseForm()
		n := i.given.Add(1)
		switch {
		case i.answer != nil:
			i.answer(w, n)
		case user != "client" || password != "s3cret-of-client" || req.Form.Get("grant_type") != "client_credentials" || req.Form.Get("scope") != "read" || req.Form.Get("audience") != "api":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, `{"access_token": "token-number-%d", "token_type": "Bearer", "expires_in": %d}`, n, i.expires)
		}
		return
	}
	if req.Header.Get("Authorization") != fmt.Sprintf("Bearer token-number-%d", i.given.Load()) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(w, "welcome")
}

const oauth = `{"url": "%s/%s", "request": {"auth": {"oauth2": {"token_url": "%s/token", "client_id": "client", "client_secret": "${env:SECRET}", "scope": "read", "params": {"audience": "api"}}}}}`

func TestOAuth2(t *testing.T) {
	r := newRig(t)
	r.env["SECRET"] = "s3cret-of-client"
	now := time.Now()
	r.cfg.Now = func() time.Time { return now }
	i := &issuer{expires: 3600}
	s := r.server(i.serve)
	c := r.client()
	src := r.source(oauth, s.URL, "page", s.URL)
	var l permits
	resp, err := c.Fetch(t.Context(), freshet.Request{URL: src.URL, Source: src, Leave: l.permit})
	if err != nil || string(resp.Body) != "welcome" || resp.Requests != 2 || fmt.Sprint(l.urls) != "[/token /page]" {
		t.Fatalf("the first fetch: %q, %v, %d requests, leave for %v", resp.Body, err, resp.Requests, l.urls)
	}
	body(t, c, src)
	body(t, c, r.source(oauth, s.URL, "other", s.URL)) // shares the token
	if n := i.given.Load(); n != 1 {
		t.Errorf("%d tokens were given out, want 1", n)
	}
	now = now.Add(time.Hour)
	body(t, c, src)
	if n := i.given.Load(); n != 2 {
		t.Errorf("after an hour %d tokens were given out, want 2", n)
	}
	// Somebody else gets a token, and ours is no good any more.
	i.given.Add(1)
	if resp, err := get(t, c, src); err != nil || resp.Requests != 3 {
		t.Errorf("a token that was taken back is not renewed: %v, %d requests", err, resp.Requests)
	}
}

func TestOneTokenForAllWhoWait(t *testing.T) {
	r := newRig(t)
	r.env["SECRET"] = "s3cret-of-client"
	i := &issuer{expires: 3600}
	s := r.server(i.serve)
	c := r.client()
	var sources []*freshet.Source
	for range 16 {
		sources = append(sources, r.source(oauth, s.URL, "page", s.URL))
	}
	r.together(c, sources)
	if n := i.given.Load(); n != 1 {
		t.Errorf("%d tokens were given out, want 1", n)
	}
}

// Wrong credentials are not tried again and again.
func TestWrongCredentialsWait(t *testing.T) {
	r := newRig(t)
	r.env["SECRET"] = "wrong-one"
	now := time.Now()
	r.cfg.Now = func() time.Time { return now }
	i := &issuer{}
	s := r.server(i.serve)
	c := r.client()
	src := r.source(oauth, s.URL, "page", s.URL)
	for minute := range 600 {
		now = now.Add(time.Minute)
		_, err := get(t, c, src)
		if classOf(err) != failure.Token || strings.Contains(err.Error(), "wrong-one") {
			t.Fatalf("minute %d ends with %v", minute, err)
		}
	}
	if n := i.given.Load(); n < 5 || n > 12 {
		t.Errorf("in 10 hours the credentials were tried %d times", n)
	}
	r.env["SECRET"] = "s3cret-of-client"
	body(t, c, src) // the right ones count at once
}

func TestUselessTokens(t *testing.T) {
	r := newRig(t)
	r.env["SECRET"] = "s3cret-of-client"
	for _, answer := range []string{"", "nothing", `{}`, `{"access_token": ""}`, `{"access_token": "a\r\nX-Evil: 1"}`, `{"access_token": "a", "token_type": "mac"}`, `{"access_token": 7}`, `{"x": "` + strings.Repeat("a", 1<<17) + `"}`} {
		i := &issuer{answer: func(w http.ResponseWriter, _ int64) { fmt.Fprint(w, answer) }}
		s := r.server(i.serve)
		if _, err := get(t, r.client(), r.source(oauth, s.URL, "page", s.URL)); classOf(err) != failure.Token {
			t.Errorf("%.40q ends with %v", answer, err)
		}
	}
}
