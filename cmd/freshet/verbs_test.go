package main

import (
	"bytes"
	"strings"
	"testing"
)

// What a person reads in the list of verbs fits on a screen.
func TestFewVerbs(t *testing.T) {
	shown := 0
	for _, c := range (&program{env: func(string) string { return "" }}).root().Commands() {
		if !c.Hidden {
			shown++
		}
	}
	if shown > 35 {
		t.Errorf("freshet --help lists %d verbs, more than 35: make one part of another with with()", shown)
	}
}

// A former name does what the verb does, and says on standard error what to write instead; a former group does
// so for each of its parts. The new name says nothing.
func TestFormerNames(t *testing.T) {
	for _, v := range formerVerbs() {
		now := (&program{env: func(string) string { return "" }}).root()
		if cmd, rest, err := now.Find(strings.Fields(v.now)); err != nil || len(rest) > 0 || cmd.Hidden {
			t.Errorf("%s is now %s, which is nothing: %v, %v", v.name, v.now, rest, err)
		}
	}
	for line, note := range map[string]string{
		"secret list":                   "note: freshet secret list is now freshet settings secret list;",
		"egress check https://1.1.1.1/": "note: freshet egress check is now freshet check egress;",
		"settings secret list":          "",
		"check egress https://1.1.1.1/": "",
	} {
		var out, errs bytes.Buffer
		p := &program{out: &out, err: &errs, env: func(string) string { return "" }}
		code := p.run(t.Context(), append(strings.Fields(line), "--data", t.TempDir()))
		if code != 0 || note != "" && !strings.HasPrefix(errs.String(), note) || note == "" && strings.Contains(errs.String(), "note:") {
			t.Errorf("freshet %s exits with %d and says\n%s%s", line, code, &out, &errs)
		}
	}
}
