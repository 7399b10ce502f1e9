package api_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
)

// A token that leaked makes no others, unless it is an admin's; and none lasts longer than what
// it was made with.
func TestTokensMadeWithTokens(t *testing.T) {
	g := newGateRig(t)
	everything := []access.Right{access.Read, access.Write, access.Administer}
	made, write := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ed", Name: "w", Limit: auth.Limit{Scopes: everything[:2]}})
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"]}`, write...).is(403)
	g.do("DELETE", "/api/v1/tokens/"+made.ID, nil, write...).is(403)
	entered := g.do("POST", "/api/v1/session", client.Login{Token: write[1][len("Bearer "):]}).is(200)
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"]}`, "Cookie", entered.Header.Get("Set-Cookie")).is(403)

	_, week := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "a", Expires: time.Now().Add(7 * 24 * time.Hour), Limit: auth.Limit{Scopes: everything}})
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"]}`, week...).is(403)
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"], "expires": "8d"}`, week...).is(403)
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"], "expires": "6d"}`, week...).is(201)
}

// A key is its user's own, and counts for a day.
func TestWhoseAKeyIsAndHowLong(t *testing.T) {
	var ahead atomic.Int64
	g := newGateRigWith(t, func(c *api.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ed, ada := g.session("ed"), g.session("ada")
	add := func(as []string, id string) answer {
		return g.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": "https://" + id + ".example/"}, append([]string{"Idempotency-Key", "k"}, as...)...)
	}
	add(ed, "one").is(201)
	if a := add(ada, "two").is(201); a.Header.Get("Idempotency-Replayed") != "" {
		t.Error("the key of another user counts")
	}
	ahead.Store(int64(23 * time.Hour))
	add(ed, "three").is(422)
	ahead.Store(int64(25 * time.Hour))
	add(ed, "three").is(201)
}

// While a request is under way another with its key is told to wait.
func TestKeyOfARequestUnderWay(t *testing.T) {
	came, goOn := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(c *api.Config) {
		check := c.Sources.Check
		c.Sources.Check = func(url string) (string, error) {
			close(came) // a second look would panic
			<-goOn
			return check(url)
		}
	})
	add := func() answer {
		a, err := ask(t, t.Context(), "POST", r.API.URL+"/api/v1/sources", map[string]any{"url": "https://page.example/"}, "Idempotency-Key", "k")
		if err != nil {
			t.Error(err)
		}
		return a
	}
	first := make(chan answer)
	go func() { first <- add() }()
	<-came
	if a := add(); a.Status != http.StatusConflict {
		t.Errorf("the second is answered with %d", a.Status)
	}
	close(goOn)
	if a := <-first; a.Status != http.StatusCreated {
		t.Errorf("the first is answered with %d", a.Status)
	}
}
