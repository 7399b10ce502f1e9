package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "accept the help of the verbs as it is now as golden")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"freshet-lab": main})
}

// TestScripts uses the program as its users do. Run with UPDATE_SCRIPTS=1 to accept
// what commands print now, then read the git diff.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command and wants an exit code: exits 2 freshet-lab limt.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// TestGoldenHelp compares the help of every command with testdata/golden/help. Run with
// -update to accept what it is now, then read the git diff.
func TestGoldenHelp(t *testing.T) {
	for _, cmd := range commandsOf((&program{}).root()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &program{out: &out, err: &out}
			if code := p.run(t.Context(), append(strings.Fields(cmd.CommandPath())[1:], "--help")); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			file := filepath.Join("testdata", "golden", "help", name+".txt")
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s is not what is printed (-golden +now):\n%s", file, diff)
			}
		})
	}
}

// commandsOf returns a command and all below it that help lists, but for those that
// cobra makes.
func commandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "completion" && c.Name() != "help" {
			all = append(all, commandsOf(c)...)
		}
	}
	return all
}
