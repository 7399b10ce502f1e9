package config_test

import (
	"testing"

	"freshet/internal/app/config"
)

func TestContact(t *testing.T) {
	for value, good := range map[string]bool{
		"https://example.org/bot": true, "ops@example.org": true, "http://example.org": true,
		"": false, "me": false, "ftp://example.org/": false, "https://user@example.org/": false,
		"https://example.org/\r\nX: y": false, "ops@example.org (me)": false, "Ops <ops@example.org>": false,
	} {
		env := func(name string) string {
			if name == "FRESHET_FETCH_CONTACT" {
				return value
			}
			return ""
		}
		s, err := config.Load(config.Input{Env: env, Flag: func(string) (string, bool) { return "", false }, NoSecrets: true})
		if value == "" { // an empty variable is one that is not set
			good = err == nil
		}
		if (err == nil) != good || good && s.Fetch.Contact != value {
			t.Errorf("%q: contact %q and %v, want it taken: %t", value, s.Fetch.Contact, err, good)
		}
	}
}
