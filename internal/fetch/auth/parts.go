package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
)

// headers fills in headers. Those with a secret go only to the host that they are
// for.
func (f *filling) headers(how *fetch.Sending, headers map[string]profile.Value, host string) error {
	for name, v := range headers {
		text, err := f.fill(v, host)
		if err != nil {
			return err
		}
		if !profile.ValidHeaderValue(text) {
			return unfit("the header " + name)
		}
		to := how.Header
		if v.Secret() {
			to = how.Secret
		}
		to.Set(name, text)
	}
	return nil
}

// unfit says that a secret cannot be sent where it is wanted.
func unfit(what string) error {
	return &freshet.FetchError{
		Class: failure.Secret, Err: errors.New(what + " would contain a line break or another character that must not be in it"),
		Hint: "check the secret for a line break in it or at its end",
	}
}

// body fills in the body, and says what it is made of.
func (f *filling) body(how *fetch.Sending, body profile.Value, form map[string]profile.Value, host string) error {
	mediaType := ""
	switch {
	case len(form) > 0:
		values := url.Values{}
		for name, v := range form {
			text, err := f.fill(v, host)
			if err != nil {
				return err
			}
			values.Set(name, text)
		}
		how.Body, mediaType = []byte(values.Encode()), "application/x-www-form-urlencoded"
	case body != "":
		text, err := f.fill(body, host)
		if err != nil {
			return err
		}
		how.Body, mediaType = []byte(text), "text/plain; charset=utf-8"
		if json.Valid(how.Body) {
			mediaType = "application/json"
		}
	default:
		return nil
	}
	if how.Method == "" {
		how.Method = http.MethodPost
	}
	if how.Header.Get("Content-Type") == "" {
		how.Header.Set("Content-Type", mediaType)
	}
	return nil
}

// cookies fills in the cookies that the profile names.
func (a *asking) cookies(how *fetch.Sending, host string) error {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(a.profile.Cookies)) {
		text, err := a.fill(a.profile.Cookies[name], host)
		if err != nil {
			return err
		}
		if !profile.ValidCookieValue(text) {
			return unfit("the cookie " + name)
		}
		pairs = append(pairs, name+"="+text)
	}
	if len(pairs) > 0 {
		how.Secret.Set("Cookie", strings.Join(pairs, "; "))
	}
	return nil
}

// authorize says who asks, unless that takes a token that has to be got.
func (a *asking) authorize(how *fetch.Sending, host string) error {
	auth := a.profile.Auth
	switch {
	case auth == nil:
	case auth.Basic != nil:
		user, password, err := a.userAndPassword(auth.Basic, host)
		if err != nil {
			return err
		}
		how.Secret.Set("Authorization", a.basic(user, password))
	case auth.Digest != nil:
		user, password, err := a.userAndPassword(auth.Digest, host)
		if err != nil {
			return err
		}
		if !profile.ValidHeaderValue(user) {
			return unfit("auth.digest.user")
		}
		how.Digest = a.client.digests.of(a.Source.ID, host, user, password)
	case auth.Bearer != "":
		text, err := a.fill(auth.Bearer, host)
		if err != nil {
			return err
		}
		if !profile.ValidHeaderValue(text) {
			return unfit("auth.bearer")
		}
		how.Secret.Set("Authorization", "Bearer "+text)
	}
	return nil
}

// userAndPassword returns a user and a password.
func (a *asking) userAndPassword(b *profile.Basic, host string) (user, password string, err error) {
	if user, err = a.fill(b.User, host); err != nil {
		return "", "", err
	}
	password, err = a.fill(b.Password, host)
	return user, password, err
}

// basic returns the credentials of a user.
func (f *filling) basic(user, password string) string {
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	f.remember(pair)
	return fmt.Sprintf("Basic %s", pair)
}
