package auth_test

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

var digestParameter = regexp.MustCompile(`(\w+)="?([^",]*)"?`)

// A server that wants a digest sees no password, refuses the first request alone, and each nonce once more when it is stale.
func TestDigest(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "the-digest-password"
	var nonce atomic.Pointer[string]
	nonce.Store(new("n1"))
	sum := func(parts ...string) string { return fmt.Sprintf("%x", md5.Sum([]byte(strings.Join(parts, ":")))) }
	answer := func(w http.ResponseWriter, req *http.Request) {
		p := map[string]string{}
		for _, m := range digestParameter.FindAllStringSubmatch(req.Header.Get("Authorization"), -1) {
			p[m[1]] = m[2]
		}
		want := sum(sum("me", "area 51", "the-digest-password"), p["nonce"], p["nc"], p["cnonce"], "auth", sum(req.Method, req.URL.RequestURI()))
		if p["nonce"] != *nonce.Load() || p["uri"] != req.URL.RequestURI() || p["response"] != want {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="area 51", qop="auth", nonce="%s", stale=true`, *nonce.Load()))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if req.URL.Path == "/moved" {
			http.Redirect(w, req, "/to?a=b", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s", req.URL.RequestURI(), p["nc"])
	}
	s := r.server(answer)
	source := func(path, user string) *freshet.Source {
		return r.source(`{"id": "s", "url": "%s", "request": {"auth": {"digest": {"user": "%s", "password": "${env:PASSWORD}"}}}}`, s.URL+path, user)
	}
	client := r.client()
	for i, tt := range []struct {
		path, want string
		requests   int // so far
	}{{"/a", "/a 00000001", 2}, {"/a", "/a 00000002", 3}, {"/moved", "/to?a=b 00000004", 5}} {
		if got := body(t, client, source(tt.path, "me")); got != tt.want || len(r.requests()) != tt.requests {
			t.Errorf("fetch %d brings %q after %d requests, want %q after %d", i+1, got, len(r.requests()), tt.want, tt.requests)
		}
	}
	nonce.Store(new("n2"))
	resp, err := get(t, client, source("/a", "me"))
	if err != nil || string(resp.Body) != "/a 00000001" || resp.Requests != 2 {
		t.Errorf("with a stale nonce %d requests bring %q (%v)", resp.Requests, resp.Body, err)
	}
	before := len(r.requests())
	if _, err := get(t, client, source("/a", "other")); classOf(err) != failure.HTTP.WithStatus(http.StatusUnauthorized) || len(r.requests()) != before+2 {
		t.Errorf("another user gets %v after %d requests", err, len(r.requests())-before)
	}

	// Another host that a redirect leads to can challenge as it likes.
	thief := r.server(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" {
			t.Errorf("another host got %q", req.Header.Get("Authorization"))
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="area 51", qop="auth", nonce="n"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	s.Config.Handler = r.noting(func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, thief.URL, http.StatusFound) })
	if _, err := get(t, client, source("/a", "me")); err == nil {
		t.Error("another host was answered")
	}
}
