package auth_test

import (
	"net/http/httptest"
	"testing"

	"freshet/internal/auth"
)

// A node speaks for a caller whom it has let in because they can read its data directory. That nobody has to log in
// at the other node counts only if nobody has to here. A secret of another node is none here.
func TestNodeThatPassesOn(t *testing.T) {
	closed, open := newRig(t, auth.Config{Mode: auth.On}), newRig(t, auth.Config{Mode: auth.Auto, Loopback: true})
	for _, c := range []struct {
		name string
		gate *auth.Gate
		via  string
		want bool
	}{
		{"who can read the data directory", closed.Gate, "data directory", true},
		{"who did not have to log in there, and has to here", closed.Gate, "open", false},
		{"who has to log in nowhere", open.Gate, "open", true},
		{"a stranger", closed.Gate, "", false},
		{"who came by something else", closed.Gate, "token x", false},
	} {
		r := auth.Passed(httptest.NewRequest("POST", "http://leader/api/v1/users", nil), auth.Passing{From: "192.0.2.1", Via: c.via})
		if got, err := c.gate.Ask(r); err != nil || got.Known != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	r := httptest.NewRequest("POST", "http://leader/api/v1/users", nil)
	r.Header.Set("Authorization", "Bearer "+auth.NewSecret(auth.LocalPrefix))
	if got, err := closed.Ask(r); err == nil || got.Known {
		t.Errorf("the secret of another node gives %+v", got)
	}
}
