package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command has a manual page that a manual reader formats without a warning, with its
// flags and its examples as they are.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	if out, code := printed(t, nil, []string{"man", dir}); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	commands := commandsOf((&program{env: func(string) string { return "" }}).root())
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(commands) {
		t.Fatalf("%d pages for %d commands, %v", len(files), len(commands), err)
	}
	for _, cmd := range commands {
		page := filepath.Join(dir, manualName(cmd)+".1")
		format := exec.Command("groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-c", "-rLL=200n", page)
		format.Stdin = strings.NewReader("")
		var warnings strings.Builder
		format.Stderr = &warnings
		out, err := format.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v %s", page, err, warnings.String())
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			if want := strings.TrimSpace(line); len(want) < 150 && !strings.Contains(string(out), want) {
				t.Errorf("%s does not show the example %q", page, want)
			}
		}
		if !strings.Contains(string(out), cmd.Short[:min(len(cmd.Short), 60)]) {
			t.Errorf("%s does not say what the command does", page)
		}
	}
}
