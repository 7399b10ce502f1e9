package config_test

import (
	"bytes"
	"strings"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
)

// Users are listed by name and role, and are written as they are read.
func TestUsers(t *testing.T) {
	var out bytes.Buffer
	if err := config.NewExport(&out).Users([]auth.User{{Name: "ann", Role: access.Admin, Password: "hash"}, {Name: "eve", Role: access.Viewer}}); err != nil {
		t.Fatal(err)
	}
	read := func(text string) (config.Settings, error) {
		return config.LoadToApply(config.Input{File: "f", Text: strings.NewReader(text), Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }})
	}
	s, err := read(out.String())
	if err != nil || len(s.Users) != 2 || s.Users[0] != (auth.User{Name: "ann", Role: access.Admin}) || strings.Contains(out.String(), "hash") {
		t.Errorf("%s is read as %+v: %v", out.String(), s.Users, err)
	}
	for text, want := range map[string]string{
		"users: [{name: a b, role: viewer}]": "cannot name a user", "users: [{name: a, role: boss}]": "not one of viewer", "users: [{name: a, role: viewer}, {name: a, role: admin}]": "listed already",
		"users: [{name: a, role: viewer, password: secret12}]": "password",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
}
