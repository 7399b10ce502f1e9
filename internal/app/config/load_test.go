package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"freshet/internal/app/config"
)

// FuzzDocument holds the reader of the file to what must be true of any file:
// it ends without a panic, and whatever it complains of has a place that can be
// shown.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"budget: 60/m\n", "sources:\n  - https://example.com/\n  - {url: x, select: {css: a}}\n", "a: &b [*b]\nkeep: *b\n",
		"sources: [{<<: {url: x}}]", "? [a]\n: b\n", "--- 1\n--- 2\n", "budget: !!int 3", "keep: {age: |\n  30d\n}", "\t", "webhooks: [{name: a, url: b, secret: c}]",
		"hosts:\n", "sources: [null]", "log: {level: &x info, format: *x}", "fetch: {ports: [80, x]}", "\xff\xfe",
	} {
		f.Add(seed)
	}
	nothing := func(string) string { return "" }
	f.Fuzz(func(t *testing.T, text string) {
		in := config.Input{File: "f.yaml", Env: nothing, Flag: func(string) (string, bool) { return "", false }}
		_, err := config.LoadText(in, text)
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[*config.Error](err)
		if !ok || wrong.Details() == "" || err.Error() == "" || len(wrong.Problems) == 0 {
			t.Fatalf("nothing is said of the problems: %v", err)
		}
		for _, p := range wrong.Problems {
			if p.Line < 1 || p.Col < 1 || strings.TrimSpace(p.Text) == "" {
				t.Errorf("problem without a place or a text: %+v", p)
			}
		}
	})
}

// What is said closer to the run wins: flag, environment, file, default.
func TestLoadPrecedence(t *testing.T) {
	const file = "budget: 10/s\nlisten: 127.0.0.1:1\nworkers: 7\n"
	env := map[string]string{"FRESHET_BUDGET": "20/s", "FRESHET_LISTEN": "127.0.0.1:2", "FRESHET_ALLOW_CIDR": "10.0.0.0/8,127.0.0.1"}
	flags := map[string]string{"budget": "30/s"}
	in := config.Input{
		File: "f.yaml",
		Env:  func(name string) string { return env[name] },
		Flag: func(name string) (string, bool) { v, ok := flags[name]; return v, ok },
	}
	s, err := config.LoadText(in, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Limits.Budget.String(); got != "30/s" {
		t.Errorf("the budget is %s, want that of the flag", got)
	}
	if s.API.Listen != "127.0.0.1:2" || s.Limits.Workers != 7 || s.Policy != "auto" {
		t.Errorf("the address is %s, workers %d, the policy %s; want those of the environment, the file and the defaults", s.API.Listen, s.Limits.Workers, s.Policy)
	}
	if len(s.Fetch.Allow) != 2 || s.Fetch.Allow[1].String() != "127.0.0.1/32" {
		t.Errorf("allowed are %v", s.Fetch.Allow)
	}
	again, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	plain := config.Input{File: "again.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
	back, err := config.LoadText(plain, string(again))
	if err != nil {
		t.Fatalf("what is printed cannot be read: %v\n%s", err, again)
	}
	other := s
	other.Data, other.Limits.Workers = "elsewhere", 8 // a reload takes on the workers
	if later := s.NeedRestart(other); len(later) != 1 || later[0] != "data" {
		t.Errorf("another data directory and other workers need a restart for %v, want data", later)
	}
	if later := s.NeedRestart(back); len(later) > 0 {
		t.Errorf("settings that were printed and read again differ in %v:\n%s", later, again)
	}
}

// All that is wrong is told at once, each with where it came from.
func TestLoadTellsAllProblems(t *testing.T) {
	in := config.Input{
		File: "f.yaml",
		Env:  func(name string) string { return map[string]string{"FRESHET_WORKERS": "none"}[name] },
		Flag: func(name string) (string, bool) { return "unifrom", name == "policy" },
	}
	_, err := config.LoadText(in, "bugdet: 10/s\nsources:\n  - url: ftp://example.com/\n  - {url: http://example.com/, weight: -1}\n")
	wrong, ok := errors.AsType[*config.Error](err)
	if !ok || len(wrong.Problems) != 3 {
		t.Fatalf("three problems of the file are told as %v", err)
	}
	for i, want := range []string{`unknown key "bugdet" (did you mean "budget"?)`, "sources[0].url", "sources[1].weight"} {
		if p := wrong.Problems[i]; !strings.Contains(p.Text, want) || p.Line != []int{1, 3, 4}[i] {
			t.Errorf("problem %d is %+v, want %q", i, p, want)
		}
	}
	if details := wrong.Details(); !strings.Contains(details, "    1 | bugdet: 10/s\n      | ^^^^^^\n") {
		t.Errorf("the problems are shown as\n%s", details)
	}
	if flag, ok := errors.AsType[*config.FlagError](err); !ok || flag.Flag != "policy" || !strings.Contains(flag.Error(), `did you mean "uniform"?`) {
		t.Errorf("a wrong flag is told as %v", flag)
	}
	if !strings.Contains(err.Error(), "FRESHET_WORKERS: ") {
		t.Errorf("a wrong variable is not told: %v", err)
	}
}

func TestManyProblems(t *testing.T) {
	text := "sources:\n" + strings.Repeat("  - {url: 'http://a.example/', weight: x}\n", 300)
	in := config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
	_, err := config.LoadText(in, text)
	e, ok := errors.AsType[*config.Error](err)
	if !ok || len(e.Problems) < 300 {
		t.Fatalf("the file has the problems %v", err)
	}
	details := e.Details()
	if n := strings.Count(details, "f.yaml:"); n != 50 || !strings.HasSuffix(details, fmt.Sprintf("... and %d more problems; fix these first\n", len(e.Problems)-50)) {
		t.Errorf("%d of %d problems are shown, and the end is %q", n, len(e.Problems), details[len(details)-60:])
	}
}
