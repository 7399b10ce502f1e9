package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"freshet"
	"freshet/config"
)

// TestLoadToApply reads a file for a daemon elsewhere: it counts alone, and secrets of
// webhooks are those of this machine.
func TestLoadToApply(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "watch.yaml")
	text := "data: " + dir + "\nbudget: 5/s\nkeep: {bytes: 3MB, age: 36h}\nhosts: {share: 12.5%}\nshares: [{tag: a, max: 10%}]\n" +
		"sources: [{url: 'https://10.1.2.3/'}]\nwebhooks: [{name: w, url: 'https://example.com/', secret_env: FRESHET_OPS}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"FRESHET_BUDGET": "7/s", "FRESHET_OPS": "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "FRESHET_ALLOW_CIDR": "10.0.0.0/8"}
	s, err := config.LoadToApply(config.Input{
		File: file, Env: func(name string) string { return env[name] },
		Flag: func(name string) (string, bool) { return "9/s", name == "budget" },
	})
	if err != nil {
		t.Fatal(err)
	}
	set := s.ToApply()
	for key, want := range map[string]string{"budget": "5/s", "keep.bytes": "3MB", "keep.age": "36h", "hosts.share": "12.5%"} {
		if set[key] != want {
			t.Errorf("%s is %q, want %q", key, set[key], want)
		}
	}
	if len(set) != 4 {
		t.Errorf("to set: %v", set)
	}
	if _, err := config.Defaults(func(string) string { return "" }).With(set, nil); err != nil {
		t.Errorf("the daemon would not take it: %v", err)
	}
	if got := s.NotToApply(); !slices.Equal(got, []string{"data", "shares"}) {
		t.Errorf("not to apply: %v", got)
	}
	sinks := s.AllSinks()
	if len(sinks) != 1 || sinks[0].Settings["secret"] != freshet.Value(env["FRESHET_OPS"]) {
		t.Errorf("the webhook has not the secret itself: %v", sinks)
	}
	if s.Sources[0].Origin != freshet.FromAPI {
		t.Errorf("the source is of the %s", s.Sources[0].Origin)
	}
}
