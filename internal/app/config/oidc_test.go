package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/auth/access"
)

// The settings of a provider come from the file, the environment and flags; the secret of the
// client is never shown, and what is wrong is named.
func TestOIDC(t *testing.T) {
	load := func(file string, env map[string]string) (config.Settings, error) {
		path := filepath.Join(t.TempDir(), "freshet.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.Input{File: path, Env: func(n string) string { return env[n] }, Flag: func(n string) (string, bool) { return "ops-flag", n == "oidc-name" }})
	}
	const good = "api:\n  url: https://f.example\n  oidc:\n    issuer: https://id.example\n    client_id: freshet\n    client_secret: hidden-secret\n    admins: [group:ops]\n"
	s, err := load(good, map[string]string{"FRESHET_OIDC_EDITORS": "group:a,email:*@b.example", "FRESHET_OIDC_DEFAULT_ROLE": "viewer"})
	if err != nil {
		t.Fatal(err)
	}
	if o := s.API.OIDC; o.Issuer != "https://id.example" || o.Secret != "hidden-secret" || o.Name != "ops-flag" || len(o.Roles.Editors) != 2 || o.Roles.Default != access.Viewer {
		t.Errorf("the settings are %+v", o)
	}
	text, err := s.YAML()
	if err != nil || strings.Contains(string(text), "hidden-secret") || !strings.Contains(string(text), "  oidc:\n    issuer: https://id.example\n") {
		t.Errorf("they are shown as %s, %v", text, err)
	}
	for file, want := range map[string]string{
		strings.Replace(good, "  url: https://f.example\n", "", 1):        "api.url: must be set",
		strings.Replace(good, "https://f.example", "http://f.example", 1): "api.url: ",
		strings.Replace(good, "    client_id: freshet\n", "", 1):          "api.oidc.client_id: must be set",
		strings.Replace(good, "https://id", "http://id", 1):               "api.oidc.issuer: ",
		strings.Replace(good, "group:ops", "ops", 1):                      "api.oidc.admins[0]: ",
		good + "    default_role: root\n":                                 "api.oidc.default_role: ",
		good + "    isuer: x\n":                                           `did you mean "issuer"?`,
	} {
		if _, err := load(file, nil); err == nil || !strings.Contains(err.Error()+detailsOf(err), want) || strings.Contains(err.Error()+detailsOf(err), "hidden-secret") {
			t.Errorf("of\n%s\nit is said %v, want %s", file, err, want)
		}
	}
}

func detailsOf(err error) string {
	if e, ok := err.(*config.Error); ok {
		return e.Details()
	}
	return ""
}
