package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/freshet/profile"
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
		"levels: [{tag: a, level: 90% within 10m}, {tag: b, aim: freshness}]\nstrategies: [{tag: a, strategy: 'hour {5, 35}'}]\n" +
		"requests:\n  shop:\n    headers: {X-Shop: a}\nlisten: 127.0.0.1:1\n" +
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
	for key, want := range map[string]string{"budget": "5/s", "keep.bytes": "3MB", "keep.age": "36h", "hosts.share": "12.5%",
		"shares": `[{"tag": "a", "max": "10%"}]`, "levels": `[{"tag": "a", "level": "90% within 10m"}, {"tag": "b", "aim": "freshness"}]`,
		"strategies": `[{"tag": "a", "strategy": "hour {5, 35}"}]`} {
		if set[key] != want {
			t.Errorf("%s is %q, want %q", key, set[key], want)
		}
	}
	if len(set) != 7 {
		t.Errorf("to set: %v", set)
	}
	taken, err := config.Defaults(func(string) string { return "" }).With(set, nil)
	if err != nil {
		t.Fatalf("the daemon would not take it: %v", err)
	}
	if !slices.Equal(taken.Levels, s.Levels) || !slices.Equal(taken.Limits.Shares, s.Limits.Shares) || len(taken.Strategies) != 1 || taken.Strategies[0].Strategy.String() != "hour {5, 35}" {
		t.Errorf("the daemon takes on %v, %v and %v", taken.Levels, taken.Limits.Shares, taken.Strategies)
	}
	if back, err := taken.With(nil, []string{"levels", "strategies", "shares"}); err != nil || len(back.Levels)+len(back.Strategies)+len(back.Limits.Shares) > 0 || len(taken.Levels) != 2 {
		t.Errorf("taken back: %v, %v", back.Levels, err)
	}
	if got := s.NotToApply(); !slices.Equal(got, []config.Place{{Line: 1, Key: "data"}, {Line: 9, Key: "requests.shop"}, {Line: 11, Key: "listen"}}) {
		t.Errorf("not to apply: %v", got)
	}
	sinks := s.AllSinks()
	if len(sinks) != 1 || sinks[0].Settings["secret"] != profile.Value(env["FRESHET_OPS"]) {
		t.Errorf("the webhook has not the secret itself: %v", sinks)
	}
}
