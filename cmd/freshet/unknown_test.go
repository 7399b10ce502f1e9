package main

import (
	"bytes"
	"strings"
	"testing"
)

// What is no command is named before its flags are judged, and words of other programs lead
// to ours.
func TestUnknownCommands(t *testing.T) {
	for line, want := range map[string]string{
		"frobnicate --all":       `unknown command "frobnicate"` + "\nhint: freshet --help lists all commands",
		"ls --json":              `unknown command "ls"` + "\nhint: did you mean freshet list?",
		"rm a":                   `unknown command "rm"` + "\nhint: did you mean freshet remove?",
		"tail -f":                `unknown command "tail"` + "\nhint: did you mean freshet changes --follow?",
		"lst --json":             `unknown command "lst"` + "\nhint: did you mean freshet list?",
		"sink ls --json":         `sink: unknown command "ls"` + "\nhint: did you mean freshet sink list?",
		"sink frobnicate --x":    `sink: unknown command "frobnicate"` + "\nhint: freshet sink --help lists all commands",
		"sink tail":              `sink: unknown command "tail"` + "\nhint: freshet sink --help lists all commands",
		"https://a.example --js": `unknown command "https://a.example"` + "\nhint: freshet watch https://a.example watches",
		"--frob list":            "unknown flag: --frob",
		"sink --frob":            "sink: unknown flag: --frob",
		"list --jso":             "list: unknown flag: --jso\nhint: did you mean --json?",
	} {
		var out bytes.Buffer
		p := &program{out: &out, err: &out, env: func(string) string { return "" }}
		if code := p.run(t.Context(), strings.Fields(line)); code != exitUsage || !strings.HasPrefix(out.String(), "freshet: "+want) {
			t.Errorf("freshet %s exits with %d and says\n%s", line, code, &out)
		}
	}
	// Each word leads to a command that there is.
	root := (&program{env: func(string) string { return "" }}).root()
	for word, verb := range elsewhereWords {
		found, rest, err := root.Find(strings.Fields(verb))
		if err != nil || found == root || len(rest) > 0 && !strings.HasPrefix(rest[0], "--") {
			t.Errorf("%s leads to %s, which is nothing: %v", word, verb, err)
		}
		if taken, _, err := root.Find([]string{word}); err == nil && taken != root {
			t.Errorf("%s is a command", word)
		}
	}
}
