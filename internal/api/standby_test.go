package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
)

// A node that does not decide answers only what it can read: all of these are routes that
// change nothing.
func TestRoutesFromStore(t *testing.T) {
	for pattern, known := range api.FromStore() {
		if !known || !strings.HasPrefix(pattern, "GET ") {
			t.Errorf("%q is answered from the store, and is no route that reads", pattern)
		}
	}
}

// What has no brain to answer says when to try again.
func TestNoBrain(t *testing.T) {
	w := httptest.NewRecorder()
	var forward api.Forward = func(w http.ResponseWriter, _ *http.Request, _ auth.Caller, _ http.HandlerFunc) {
		api.NoLeader(w, http.StatusServiceUnavailable, "nobody decides", "wait")
	}
	forward(w, nil, auth.Caller{}, nil)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "nobody decides") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// A node that only reads the store has the one that decides hear who was here, now and then: with
// a request of theirs, but not with one that lasts.
func TestUseIsTold(t *testing.T) {
	now, passed := time.Now(), 0
	g := newGateRigWith(t, func(c *api.Config) {
		c.Cluster.Forward = func(w http.ResponseWriter, r *http.Request, _ auth.Caller, instead http.HandlerFunc) {
			passed++
			instead(w, r)
		}
	}, func(c *auth.Config) { c.Follows, c.Now = true, func() time.Time { return now } })
	limit := auth.Limit{Scopes: []access.Right{access.Read}}
	p, token := g.pass(auth.Credential{Kind: auth.TokenKind, User: "vi", Name: "t", Limit: limit})
	_, other := g.pass(auth.Credential{Kind: auth.TokenKind, User: "vi", Name: "other", Limit: limit})
	ask := func(what, path string, header []string, want int) {
		t.Helper()
		passed = 0
		g.status("GET", path, header)
		if passed != want {
			t.Errorf("%s: %d requests are passed on, want %d", what, passed, want)
		}
	}
	ask("a stranger", "/api/v1/session", nil, 0)
	ask("a stream", "/api/v1/changes/stream", token, 0)
	ask("a page", "/sources", token, 0)
	ask("the first time", "/api/v1/sources", token, 1)
	ask("again", "/api/v1/sources", token, 0)
	ask("somebody else", "/api/v1/sources", other, 1)
	now = now.Add(6 * time.Minute)
	ask("later", "/api/v1/sources/a", token, 1)
	now = now.Add(6 * time.Minute)
	if err := auth.NewStore(g.Store.DB()).MarkUsed(t.Context(), p.ID, now); err != nil {
		t.Fatal(err)
	}
	ask("used elsewhere", "/api/v1/sources", token, 0)
}
