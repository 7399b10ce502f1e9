package sinks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// A file grows by a line for each change, and a new one is begun when it is full.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "changes.jsonl")
	s := sinks.Sink{Name: "file", URL: profile.Value("file://" + path), Origin: freshet.FromFile, Settings: values{"max_bytes": "2000", "keep": "2"}}
	o := opened(t, s, nil)
	body, err := o.Render(t.Context(), change(), texts)
	if err != nil {
		t.Fatal(err)
	}
	send := func(id string) {
		t.Helper()
		if _, err := o.Send(t.Context(), sinks.Message{ID: id, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	send("a")
	if err := os.WriteFile(path, append(append(body, '\n'), `{"id": "torn`...), 0o600); err != nil { // by a crash
		t.Fatal(err)
	}
	send("b")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	var e client.Event
	if len(lines) != 3 || json.Unmarshal([]byte(lines[2]), &e) != nil || e.ID != change().ID() {
		t.Errorf("the file has %d lines: %s", len(lines), text)
	}
	for range 20 {
		send("c")
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 3 {
		t.Errorf("there are %v, want three files", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes and mode %v", f, info.Size(), info.Mode())
		}
	}
	s.Origin = freshet.FromAPI
	if _, err := sinks.Open(config(nil), s); err == nil {
		t.Error("the API can have files written")
	}
	for _, url := range []profile.Value{"file://relative", "file:///", "file://host/path"} {
		if _, err := sinks.Open(config(nil), sinks.Sink{Name: "f", Kind: "file", URL: url, Origin: freshet.FromFile}); err == nil {
			t.Errorf("%s can be written to", url)
		}
	}
}

// A command gets the change on standard input, if the operator allows commands.
func TestCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	s := func(command string) sinks.Sink {
		return sinks.Sink{Name: "command", Kind: "command", Origin: freshet.FromFile, Settings: values{"command": profile.Value(command)}}
	}
	allowed := func(c *sinks.Config) { c.Exec, c.Timeout = true, time.Minute }
	if _, err := sinks.Open(config(nil), s("true")); err == nil || !strings.Contains(freshet.HintOf(err), "allow_exec") {
		t.Errorf("commands run although nobody allowed it: %v", err)
	}
	foreign := s("true")
	foreign.Origin = freshet.FromAPI
	if _, err := sinks.Open(config(allowed), foreign); err == nil {
		t.Error("the API can have commands run")
	}
	send := func(command string) (string, error) {
		return opened(t, s(command), allowed).Send(t.Context(), sinks.Message{ID: "a", Body: []byte(`{"id":"a"}`)})
	}
	if answer, err := send(fmt.Sprintf("cat > %s && echo done", out)); err != nil || answer != "done" {
		t.Errorf("answered %q, %v", answer, err)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != `{"id":"a"}` {
		t.Errorf("the command got %q, %v", text, err)
	}
	if _, err := send("true"); err != nil { // it need not read
		t.Errorf("a command that reads nothing: %v", err)
	}
	if _, err := send("echo oh no >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a command that fails: %v", err)
	}
	hurried := func(c *sinks.Config) { c.Exec, c.Timeout = true, time.Second }
	if _, err := opened(t, s("sleep 60"), hurried).Send(t.Context(), sinks.Message{ID: "a"}); err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("a command that hangs: %v", err)
	}
}
