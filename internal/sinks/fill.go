package sinks

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
)

// filled are the values of a sink with their secrets, for one attempt.
type filled struct {
	url      string
	settings map[string]string
	headers  map[string]string
	secrets  []string // that must not be repeated
}

// fill looks up what the values of a sink refer to. A secret of the vault is filled in
// only if it is meant for the host of the sink.
func fill(s Sink, k *kind, from auth.Secrets) (f filled, err error) {
	foreign := s.Origin != freshet.FromFile
	raw, err := s.URL.Expand(func(r profile.Reference) (string, error) {
		text, _, err := from.Peek(r, foreign)
		return text, errors.Join(err)
	})
	if err != nil {
		return f, fmt.Errorf("url: %w", err)
	}
	host := ""
	if u, err := url.Parse(raw); err == nil {
		host = strings.ToLower(u.Host)
	}
	look := func(field string, v profile.Value) (string, error) {
		text, err := v.Expand(func(r profile.Reference) (string, error) {
			text, err := from.Look(r, host, foreign)
			if err != nil {
				return "", fmt.Errorf("%s: %w", r, err)
			}
			f.secrets = append(f.secrets, text)
			return text, nil
		})
		if err != nil {
			return "", fmt.Errorf("%s: %w", field, err)
		}
		return text, nil
	}
	if f.url, err = look("url", s.URL); err != nil {
		return f, err
	}
	f.settings, f.headers = map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if slices.Contains(summarySettings, name) {
			continue // not for the receiver
		}
		if f.settings[name], err = look("settings."+name, s.Settings[name]); err != nil {
			return f, err
		}
		if k.secret(name) {
			f.secrets = append(f.secrets, f.settings[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if f.headers[name], err = look("headers."+name, s.Headers[name]); err != nil {
			return f, err
		}
	}
	if k.secretURL {
		f.secrets = append(f.secrets, f.url, pathOf(f.url))
	}
	return f, nil
}

// pathOf returns what stands behind the host of a URL.
func pathOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.RequestURI()
}

// leastSecret is how long a text is at least that is taken out of what goes wrong.
// Shorter ones are parts of ordinary words.
const leastSecret = 6

// clean takes the secrets out of a text.
func (f filled) clean(text string) string {
	for _, s := range f.secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if len(form) >= leastSecret {
				text = strings.ReplaceAll(text, form, "***")
			}
		}
	}
	return mask.Text(text)
}

// A cleanError is an error whose text holds no secret.
type cleanError struct {
	text string
	err  error
}

// Error returns the text.
func (e *cleanError) Error() string { return e.text }

// Unwrap returns the error that it was.
func (e *cleanError) Unwrap() error { return e.err }

// cleanErr takes the secrets out of an error.
func (f filled) cleanErr(err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		r.Text = f.clean(r.Text)
		return err
	}
	if text := f.clean(err.Error()); text != err.Error() {
		return &cleanError{text, err}
	}
	return err
}
