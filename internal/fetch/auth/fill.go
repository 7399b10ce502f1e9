package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
)

// A filling fills in the secrets of the requests of one poll, and remembers them: what
// comes back is searched for them.
type filling struct {
	env    func(string) string
	vault  *secrets.Vault
	source *freshet.Source
	own    []profile.Reference // what the source itself refers to, and not a profile that it uses
	taken  map[string]string   // by the login

	known []string
}

func (c *Client) filling(s *freshet.Source) *filling {
	f := &filling{env: c.cfg.Env, vault: c.cfg.Vault, source: s}
	for _, v := range s.Request.Values {
		found, _ := v.References() // they have been checked
		f.own = append(f.own, found...)
	}
	return f
}

// fill returns a value as it is to be sent to a host.
func (f *filling) fill(v profile.Value, host string) (string, error) {
	filled, err := v.Expand(func(r profile.Reference) (string, error) { return f.value(r, host) })
	if err != nil {
		return "", &freshet.FetchError{Class: failure.Secret, Err: err, Hint: freshet.HintOf(err)}
	}
	return filled, nil
}

// value returns what a reference stands for.
func (f *filling) value(r profile.Reference, host string) (string, error) {
	text, err := f.lookUp(r, host)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r, err)
	}
	f.remember(text)
	return text, nil
}

func (f *filling) lookUp(r profile.Reference, host string) (string, error) {
	if r.Kind != profile.TakenValue {
		foreign := f.source.Origin != freshet.FromFile && slices.Contains(f.own, r)
		return Secrets{f.env, f.vault}.Look(r, host, foreign)
	}
	text, ok := f.taken[r.Name]
	if !ok {
		return "", errors.New("no login has taken a value of this name")
	}
	return text, nil
}

// leastKnown is how long a secret is at least that answers are searched for. Shorter
// ones are parts of ordinary words.
const leastKnown = 6

// remember notes a secret in all forms in which a server could repeat it.
func (f *filling) remember(text string) {
	quoted, _ := json.Marshal(text) // a string always marshals
	forms := []string{text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(text))}
	for _, form := range forms {
		if len(form) >= leastKnown && !slices.Contains(f.known, form) {
			f.known = append(f.known, form)
		}
	}
}

func (f *filling) rememberAll(texts []string) {
	for _, text := range texts {
		f.remember(text)
	}
}
