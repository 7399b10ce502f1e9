package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// What was set over the API is read back, below file, environment and flags.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	load := func(file string, env map[string]string) (config.Settings, error) {
		in := config.Input{
			File: "f.yaml", Env: func(name string) string { return env[name] },
			Flag: func(name string) (string, bool) { return dir, name == "data" },
		}
		return config.LoadText(in, file)
	}
	s, err := load("workers: 7\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := s.With(map[string]string{"budget": "2/s", "keep.versions": "10"}, nil)
	if err != nil || to.Limits.Budget.String() != "2/s" || to.From("budget") != config.FromAPI || s.From("budget") != config.FromDefault {
		t.Fatalf("with a budget of 2/s there is %s from %s, and before %s: %v", to.Limits.Budget, to.From("budget"), s.From("budget"), err)
	}
	if err := config.WriteKept(dir, map[string]string{"budget": "2/s", "keep.versions": "10"}); err != nil {
		t.Fatal(err)
	}
	if s, err = load("workers: 7\n", nil); err != nil || s.Limits.Budget.String() != "2/s" || s.Retention.Keep.Versions != 10 || s.Limits.Workers != 7 {
		t.Errorf("read back: budget %s, versions %d, workers %d: %v", s.Limits.Budget, s.Retention.Keep.Versions, s.Limits.Workers, err)
	}
	if back, err := s.With(nil, []string{"budget"}); err != nil || back.Limits.Budget.String() != "60/m" || back.From("budget") != config.FromDefault {
		t.Errorf("set back, the budget is %s: %v", back.Limits.Budget, err)
	}
	if s, err = load("budget: 3/s\n", map[string]string{"FRESHET_KEEP_VERSIONS": "5"}); err != nil || s.Limits.Budget.String() != "3/s" || s.Retention.Keep.Versions != 5 {
		t.Errorf("the file says 3/s and the environment 5, but there is %s and %d: %v", s.Limits.Budget, s.Retention.Keep.Versions, err)
	}
	for _, key := range []string{"budget", "keep.versions"} {
		if _, err := s.With(map[string]string{key: "1"}, nil); !errors.Is(err, freshet.ErrConflict) {
			t.Errorf("an edit of %s, which is said elsewhere, is %v", key, err)
		}
	}
	for key, want := range map[string]string{"data": "cannot be changed", "nothing": "no such setting", "hints": "days"} {
		if _, err := s.With(map[string]string{key: "99999999 days"}, nil); err == nil || !strings.Contains(err.Error(), want) && key != "hints" {
			t.Errorf("an edit of %s is %v", key, err)
		}
	}
	if _, err := s.With(map[string]string{"hints": "1h"}, []string{"hints"}); err == nil {
		t.Error("a key can be set and unset at once")
	}

	// A file that cannot be read says so, and how to go on.
	for _, text := range []string{"{", `{"budget": "much"}`, `{"listen": "127.0.0.1:1"}`} {
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load("workers: 7\n", nil); err == nil || !strings.Contains(err.Error(), "settings.json") || freshet.HintOf(err) == "" {
			t.Errorf("%s is read with %v", text, err)
		}
	}
}
