package openid

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
)

// An Attempt is a login that has begun. The browser keeps it while it is at the provider.
type Attempt struct {
	State    string `json:"s"` // comes back with the browser
	Nonce    string `json:"n"` // comes back in the ID token
	Verifier string `json:"v"` // shows the provider who asked for the code
	Next     string `json:"t"` // where to go on the page afterwards
}

func newAttempt(next string) Attempt {
	return Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Next: next}
}

// String returns the attempt as a browser keeps it in a cookie.
func (a Attempt) String() string {
	text, _ := json.Marshal(a) // strings always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseAttempt reads what String returned; false means that it is nothing of the kind.
func ParseAttempt(kept string) (a Attempt, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return Attempt{}, false
	}
	return a, a.State != "" && a.Nonce != "" && a.Verifier != ""
}
