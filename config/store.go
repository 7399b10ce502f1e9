package config

import (
	"errors"
	"net/url"
	"strings"

	"freshet"
)

// setStore takes the URL of a PostgreSQL database.
func setStore(s *Settings, v string) error {
	if v != "" && !IsStore(v) {
		return freshet.WithHint(errors.New("is not the URL of a PostgreSQL database"), "write postgres://USER@HOST:PORT/DATABASE; for a directory use data")
	}
	s.Store = v
	return nil
}

// IsStore reports whether a text is the URL of a PostgreSQL database.
func IsStore(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && (u.Host != "" || u.RawQuery != "")
}

// withoutPassword returns the URL of a database as it may be shown.
func withoutPassword(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return ""
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return strings.TrimSuffix(u.String(), "?")
}
