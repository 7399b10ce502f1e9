package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
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
	own    []profile.Reference   // what the source itself refers to, and not a profile that it uses
	taken  map[string]takenValue // by the login

	hosts []string // that every secret filled in so far may be sent to; nil means any
	known []string // secrets in all forms in which a server could repeat them, the longest first
	given []string // those of known that are of the vault or the environment
}

// A takenValue is a value that a login took from a response.
type takenValue struct {
	Text   string
	Origin string   // host that answered
	Hosts  []string // that the secrets sent before are bound to; nil if they are not
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
	if r.Kind != profile.TakenValue {
		f.given = append(f.given, formsOf(text)...)
	}
	return text, nil
}

func (f *filling) lookUp(r profile.Reference, host string) (string, error) {
	foreign := f.source.Origin != freshet.FromFile && slices.Contains(f.own, r)
	if r.Kind != profile.TakenValue {
		text, hosts, err := Secrets{f.env, f.vault}.look(r, host, foreign)
		if err == nil && len(hosts) > 0 {
			f.hosts = intersection(f.hosts, hosts)
		}
		return text, err
	}
	v, ok := f.taken[r.Name]
	if !ok {
		return "", errors.New("no login has taken a value of this name")
	}
	return v.Text, checkDerived(v.Origin, v.Hosts, host, foreign)
}

// checkDerived returns an error if a value from the response of a host must not be sent to
// another. It may go where all secrets that it was obtained with may go. Where none is bound
// to hosts, the configuration file may send the value anywhere, and the API nowhere else.
func checkDerived(origin string, hosts []string, to string, foreign bool) error {
	if to == origin || slices.Contains(hosts, to) || hosts == nil && !foreign {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("it comes from %s and must not be sent to %s", origin, to),
		"if it belongs there, bind the secrets that it is obtained with to both hosts: freshet settings secret set NAME --host "+origin+" --host "+to)
}

// intersection returns the hosts that are in both lists; a nil list holds all.
func intersection(a, b []string) []string {
	if a == nil {
		return b
	}
	both := []string{}
	for _, host := range a {
		if slices.Contains(b, host) {
			both = append(both, host)
		}
	}
	return both
}

// leastKnown is how long a secret is at least that answers are searched for. Shorter
// ones are parts of ordinary words.
const leastKnown = 6

// formsOf returns a secret in all forms in which a server could repeat it, but those that are too short.
func formsOf(text string) []string {
	quoted, _ := json.Marshal(text) // a string always marshals
	forms := []string{
		text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`), html.EscapeString(text),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)),
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < leastKnown })
}

// remember notes a secret in all its forms.
func (f *filling) remember(text string) {
	for _, form := range formsOf(text) {
		if !slices.Contains(f.known, form) {
			f.known = append(f.known, form)
		}
	}
	// The longest first: one secret can be part of another.
	slices.SortFunc(f.known, func(a, b string) int { return len(b) - len(a) })
}

func (f *filling) rememberAll(texts []string) {
	for _, text := range texts {
		f.remember(text)
	}
}
