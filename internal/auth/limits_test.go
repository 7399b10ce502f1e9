package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/store"
)

// token makes a token of a user that is good for reading.
func (r *rig) token(user string, expires time.Time) (auth.Credential, string) {
	r.t.Helper()
	p, secret, err := r.Issue(r.t.Context(), auth.Credential{Kind: auth.TokenKind, User: user, Name: "ci", Expires: expires, Limit: auth.Limit{Scopes: []access.Right{access.Read}, Tag: "shop"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return p, secret
}

// enter returns the session of somebody with a token.
func (r *rig) enter(token string) string {
	r.t.Helper()
	_, secret, err := r.Enter(r.t.Context(), token, "192.0.2.1")
	if err != nil {
		r.t.Fatal(err)
	}
	return secret
}

// Whoever enters a browser with a token has there what the token is good for, and no longer.
func TestSessionsOfTokens(t *testing.T) {
	r := newRig(t, auth.Config{})
	r.user("ada", access.Admin)
	short, hour := r.token("ada", noon.Add(time.Hour))
	_, year := r.token("ada", noon.Add(365*24*time.Hour))
	session, long := r.enter(hour), r.enter(year)
	for name, secret := range map[string]string{"token": hour, "session": session} {
		c, err := r.Known(t.Context(), secret)
		if got := fmt.Sprint(c.Limit.Scopes, " ", c.Limit.Tag); err != nil || got != "[read] shop" {
			t.Errorf("the %s of an admin that is good for reading has %s: %v", name, got, err)
		}
	}
	if _, _, err := r.Enter(t.Context(), session, "192.0.2.1"); !errors.Is(err, auth.ErrUnknown) {
		t.Errorf("a session makes another: %v", err)
	}
	r.now = noon.Add(time.Hour)
	if r.knows(session) {
		t.Error("a session outlives the token that it was made with")
	}
	for range 11 {
		if r.now = r.now.Add(3 * 24 * time.Hour); r.knows(long) != (r.now.Sub(noon) < 30*24*time.Hour) {
			t.Errorf("a session of a token that lasts a year is wrong after %s", r.now.Sub(noon))
		}
	}
	r.now = noon
	again := r.enter(hour)
	if err := r.Revoke(t.Context(), auth.CredentialFilter{ID: short.ID}); err != nil {
		t.Fatal(err)
	}
	if r.knows(again) {
		t.Error("a session outlives its token, which was removed")
	}
}

// A link reads what it shows, wherever it is sent; a token has no place in an address.
func TestSecretsInAddresses(t *testing.T) {
	r := newRig(t, auth.Config{})
	r.user("ada", access.Admin)
	_, token := r.token("ada", time.Time{})
	_, share, err := r.Issue(t.Context(), auth.Credential{Kind: auth.ShareKind, User: "ada", Limit: auth.Limit{Source: "news"}})
	if err != nil {
		t.Fatal(err)
	}
	_, session := r.login("ada")
	for _, tt := range []struct {
		method, secret string
		want           string
	}{
		{"GET", share, "[read] news"},
		{"HEAD", share, "[read] news"},
		{"POST", share, "stranger"},
		{"DELETE", share, "stranger"},
		{"GET", token, "refused"},
		{"GET", session, "refused"},
		{"GET", "fl_nonsense", "refused"},
	} {
		c, err := r.Ask(httptest.NewRequest(tt.method, "/api/v1/sources/news?link="+tt.secret, nil))
		got := fmt.Sprint(c.Limit.Scopes, " ", c.Limit.Source)
		switch {
		case errors.Is(err, auth.ErrUnknown):
			got = "refused"
		case err != nil:
			t.Fatal(err)
		case !c.Known:
			got = "stranger"
		}
		if got != tt.want {
			t.Errorf("%s with %.3s... in the address: %s, want %s", tt.method, tt.secret, got, tt.want)
		}
	}
}

// Somebody of the provider logs in there alone, also if a password is left from before.
func TestGuestsLogInAtTheProvider(t *testing.T) {
	r := newRig(t, auth.Config{Provider: "https://id.example/"})
	r.user("ada", access.Admin)
	for name, subject := range map[string]string{"bob": "https://id.example#1", "eve": "https://other.example#1"} {
		if _, err := r.AddUser(t.Context(), auth.User{Name: name, Role: access.Viewer, Subject: subject}, "password of "+name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Verify(t.Context(), "bob", "password of bob", "192.0.2.1"); err != auth.ErrWrong {
		t.Errorf("a guest with a password gets %v", err)
	}
	if _, err := r.Verify(t.Context(), "eve", "password of eve", "192.0.2.1"); err != nil {
		t.Errorf("a user of a provider that is not in use any more gets %v", err)
	}
}

// A pass whose user is removed between two looks is good for nothing.
func TestPassWithoutUser(t *testing.T) {
	r := newRig(t, auth.Config{})
	r.user("ada", access.Admin)
	_, token := r.token("ada", time.Time{})
	err := r.db.Write(t.Context(), "removing a user", func(tx *store.Tx) error { return tx.Remove("users", "name = ?", "ada") })
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Known(t.Context(), token); !errors.Is(err, auth.ErrUnknown) || c.Known {
		t.Errorf("it is known as %+v: %v", c, err)
	}
}

// What a browser keeps of a login at the provider no script reads, and goes over https if the
// page does.
func TestCookiesOfAttempts(t *testing.T) {
	for _, secure := range []bool{false, true} {
		c := auth.Caller{Secure: secure}.AttemptCookie("kept")
		if !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode || c.MaxAge <= 0 || c.MaxAge > 600 || c.Path != "/" || c.Domain != "" {
			t.Errorf("over https %t the cookie is %s", secure, c.String())
		}
	}
}
