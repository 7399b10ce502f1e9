package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/cli/display"
)

var update = flag.Bool("update", false, "accept what the verbs print now as golden")

// noon is when all verbs of the golden files are run.
var noon = time.Date(2026, time.March, 14, 16, 0, 0, 0, time.UTC)

// A look is one way in which the output of a verb is seen.
type look struct {
	name   string
	width  int // zero means a pipe
	colour bool
}

var looks = []look{
	{"pipe", 0, false}, {"80 columns", 80, false}, {"140 columns", 140, false}, {"80 columns, colour", 80, true}, {"140 columns, colour", 140, true},
}

// args returns the flags of the look.
func (l look) args() []string {
	colour := "never"
	if l.colour {
		colour = "always"
	}
	return []string{"--width", fmt.Sprint(l.width), "--color", colour}
}

// TestGolden runs verbs on a small store without a daemon, and against the
// recorded answers of a daemon, at a fixed time, and compares what they print with
// testdata/golden: in a pipe, and at two widths, with colour and without. Run with
// -update to accept what they print now, then read the git diff.
func TestGolden(t *testing.T) {
	inZone(t)
	alone := map[string]string{"FRESHET_DATA": goldenStore(t)}
	daemon := map[string]string{"FRESHET_DATA": t.TempDir(), "FRESHET_SERVER": goldenAnswers(t, "")}
	early := map[string]string{"FRESHET_DATA": t.TempDir(), "FRESHET_SERVER": goldenAnswers(t, "early")}
	unkept := map[string]string{"FRESHET_DATA": t.TempDir(), "FRESHET_SERVER": goldenAnswers(t, "unkept")}
	for _, tt := range []struct {
		name string
		env  map[string]string
		line string
		code int
	}{
		{"list", daemon, "list", 0},
		{"list-alone", alone, "list", 0},
		{"list-next", daemon, "list --sort next", 0},
		{"list-filters", alone, "list --failing --paused --sort seen --reverse", 0},
		{"poll-all", daemon, "poll --all", exitError},
		{"show", daemon, "show kettle", 0},
		{"show-alone", alone, "show kettle", 0},
		{"show-failing", alone, "show gone", 0},
		{"history", alone, "history kettle", 0},
		{"changes", alone, "changes", 0},
		{"changes-diff", alone, "changes kettle --diff -n 2", 0},
		{"diff", alone, "diff kettle", 0},
		{"diff-sides", alone, "diff kettle --side-by-side", 0},
		{"diff-long", alone, "diff essay", 0},
		{"log", alone, "history log", 0},
		{"changes-tag", alone, "changes --tag press", 0},
		{"status", daemon, "status", 0},
		{"status-alone", alone, "status", exitError},
		{"status-early", early, "status", 0},
		{"why", daemon, "why kettle", 0},
		{"why-verbose", daemon, "why kettle --verbose", 0},
		{"why-early", early, "why kettle", 0},
		{"why-held", unkept, "why kettle", 0},
		{"numbers", daemon, "budget numbers --by source --calibration", 0},
		{"numbers-verbose", daemon, "budget numbers --verbose", 0},
		{"numbers-early", early, "budget numbers --by source", 0},
		{"numbers-wide", unkept, "budget numbers", 0},
		{"budget", daemon, "budget", 0},
		{"budget-verbose", daemon, "budget --verbose --eaters 3 --levels", 0},
		{"budget-early", early, "budget --levels", 0},
		{"budget-unkept", unkept, "budget --levels", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goldenRun(t, tt.name, tt.line, tt.code, func() map[string]string { return tt.env })
		})
	}
}

// inZone has the test run in the time zone of the golden files.
func inZone(t *testing.T) {
	t.Helper()
	zone := time.Local
	time.Local = time.FixedZone("EDT", -4*60*60)
	t.Cleanup(func() { time.Local = zone })
}

// goldenRun runs a command line as it is seen in every way, and compares what it
// prints with a golden file. Env is asked for each run.
func goldenRun(t *testing.T, name, line string, code int, env func() map[string]string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "$ freshet %s\n", line)
	for _, l := range looks {
		out, got := printed(t, env(), append(l.args(), strings.Fields(line)...))
		if got != code {
			t.Errorf("%s, %s: exit code %d, want %d", line, l.name, got, code)
		}
		fits(t, l, out)
		fmt.Fprintf(&b, "\n-- %s --\n%s", l.name, strings.ReplaceAll(out, "\x1b", "␛"))
	}
	isGolden(t, filepath.Join("testdata", "golden", name+".txt"), b.String())
}

// printed runs a command line and returns all that it prints.
func printed(t *testing.T, env map[string]string, args []string) (string, int) {
	t.Helper()
	var out, complaints bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &complaints, env: func(name string) string { return env[name] }, now: func() time.Time { return noon }}
	code := p.run(t.Context(), args)
	said := out.String() + complaints.String()
	if dir := env["FRESHET_DATA"]; dir != "" {
		said = strings.ReplaceAll(said, dir, "DATA")
	}
	return used.ReplaceAllString(said, "1.0 MB used"), code
}

// used is what a store takes, which depends on more than what is in it.
var used = regexp.MustCompile(`[0-9.]+ [kM]B used`)

// sgr is what paints text.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// whole are lines that may be longer than the screen, because they are there to be
// copied.
var whole = regexp.MustCompile(`^(\x1b\[2m)?url |^      (\x1b\[36m)?freshet |^  freshet |^  https?://\S+$`)

// fits fails the test if something is wrong with an output that holds for all
// verbs: no line is longer than the screen, and only colour has codes.
func fits(t *testing.T, l look, out string) {
	t.Helper()
	if !l.colour && sgr.MatchString(out) {
		t.Errorf("%s: there is colour in %q", l.name, out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if n := display.Columns(line); l.width > 0 && n > l.width && !whole.MatchString(line) {
			t.Errorf("%s: a line has %d columns: %q", l.name, n, line)
		}
		if strings.HasSuffix(sgr.ReplaceAllString(line, ""), "  ") {
			t.Errorf("%s: a line ends with blanks: %q", l.name, line)
		}
	}
}

// isGolden compares what was printed with a file, or writes the file.
func isGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is printed (-golden +now):\n%s", file, diff)
	}
}

// goldenAnswers returns the address of a server that answers as a daemon did: the
// answer to a request is the file that is named by its path, of a state of things if
// that has one. What is learnt and decided may change, and the golden files then stay.
func goldenAnswers(t *testing.T, state string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/", "-")
		answer, err := os.Open(filepath.Join("testdata", "golden", "answers", state, name+".json"))
		if err != nil {
			answer, err = os.Open(filepath.Join("testdata", "golden", "answers", name+".json"))
		}
		if err != nil {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"title":"Not Found","status":404,"detail":"%s"}`, name)
			return
		}
		defer answer.Close()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
