package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet/internal/app"
	"freshet/internal/research/generate"
	"freshet/internal/units"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"freshet": main})
}

// TestScripts uses the program as its users do. Each script of testdata/script
// has a data directory of its own. Run with UPDATE_SCRIPTS=1 to accept what
// commands print now, then read the git diff.
//
// In short mode those that start a daemon are left out.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		files = slices.DeleteFunc(files, func(name string) bool {
			text, err := os.ReadFile(name)
			return err != nil || strings.Contains(string(text), "freshet serve")
		})
	}
	testscript.Run(t, testscript.Params{
		Files:         files,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("FRESHET_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("FRESHET_ALLOW_CIDR", "127.0.0.0/8")
			e.Setenv("FRESHET_HOST_DELAY", "10ms")
			e.Setenv("FRESHET_BUDGET", "50/s")
			e.Setenv("FRESHET_SOURCE_GAP", "0s") // scripts have little time, and pages of their own
			e.Setenv("FRESHET_SOURCE_SHARE", "100%")
			e.Setenv("FRESHET_HOST_SHARE", "100%")
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"await":    await,
			"origin":   origin,
			"receiver": receiver,
			"occupy":   occupy,
			"hangup":   hangup,
			"follow":   follow,
			"hits":     hits,
			"ready":    ready,
			"remember": remember,
			"generate": simulate,
		},
	})
}

// exits runs a command and wants an exit code: exits 4 freshet show nothing.
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

// slowest is how long anything may take, on a machine that is very slow.
const slowest = 5 * time.Minute

// await runs a command again and again until it prints what is wanted, or
// the time of the slowest has passed: await 'version 2' freshet list.
func await(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	last := ""
	if !eventually(func() bool {
		out, _ := command(ts, args[1:]).CombinedOutput()
		last = string(out)
		return want.MatchString(last)
	}) {
		ts.Fatalf("%s never printed %q, at last:\n%s", strings.Join(args[1:], " "), args[0], last)
	}
}

// follow runs a command until it prints what is wanted, then interrupts it and
// wants it to end well: follow 'seq":1' freshet changes --follow --json.
func follow(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	cmd := command(ts, args[1:])
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	over := time.AfterFunc(slowest, func() { cmd.Process.Kill() })
	defer over.Stop()
	found := false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		found = want.MatchString(lines.Text())
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	ts.Check(err)
	ts.Logf("%s", rest)
	if err := cmd.Wait(); err != nil || !found {
		ts.Fatalf("%s: %v; printed %q: %t", strings.Join(args[1:], " "), err, args[0], found)
	}
}

// remember sets a variable to what a pattern finds in what was printed last:
// remember CURSOR '"cursor":"([^"]*)"'.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("%s was not printed", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// simulate makes up a history of changes: generate poisson 20 4d trace.csv.
func simulate(ts *testscript.TestScript, _ bool, args []string) {
	pages, err := strconv.Atoi(args[1])
	ts.Check(err)
	length, err := units.ParseDuration(args[2])
	ts.Check(err)
	h, err := generate.New(generate.Spec{Kind: args[0], Pages: pages, Length: length, Seed: 1})
	ts.Check(err)
	ts.Check(h.WriteFile(ts.MkAbs(args[3])))
}

// command returns a command as the script would run it.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"FRESHET_DATA", "FRESHET_CONFIG", "FRESHET_SERVER", "FRESHET_ALLOW_CIDR", "FRESHET_HOST_DELAY", "FRESHET_BUDGET", "FRESHET_SOURCE_GAP", "FRESHET_SOURCE_SHARE", "FRESHET_HOST_SHARE", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// eventually reports whether something becomes true in the time of the slowest.
func eventually(is func() bool) bool {
	deadline := time.After(slowest)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-deadline:
			return false
		case <-look.C:
		}
	}
	return true
}

// ready waits until a daemon holds the data directory and serves, and puts its
// address into $API.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	if !eventually(func() bool {
		a, err := app.ReadAddress(ts.Getenv("FRESHET_DATA"))
		if err != nil || a.URL == "" {
			return false
		}
		resp, err := http.Get(a.URL + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		ts.Setenv("API", a.URL)
		return resp.StatusCode == http.StatusOK && a.Answers(context.Background())
	}) {
		ts.Fatalf("the daemon never became ready")
	}
}

// origin serves the files of a folder of the script, as they are at the time
// of each request, and puts its address into $ORIGIN: origin site.
func origin(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hits" {
			fmt.Fprint(w, served.Load())
			return
		}
		if r.URL.Path != "/robots.txt" {
			defer served.Add(1)
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(text))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(text)
	}))
	ts.Defer(server.Close)
	ts.Setenv("ORIGIN", server.URL)
}

// hits waits until the origin has served so many requests, but for robots.txt: hits 2.
func hits(ts *testscript.TestScript, _ bool, args []string) {
	awaitCount(ts, ts.Getenv("ORIGIN")+"/hits", args[0])
}

// awaitCount waits until a server of this test has counted far enough.
func awaitCount(ts *testscript.TestScript, url, wanted string) {
	want, err := strconv.Atoi(wanted)
	ts.Check(err)
	got := 0
	if !eventually(func() bool {
		resp, err := http.Get(url)
		ts.Check(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		ts.Check(err)
		got, err = strconv.Atoi(string(text))
		ts.Check(err)
		return got >= want
	}) {
		ts.Fatalf("%d were counted, want %d", got, want)
	}
}

// receiver takes signed webhooks at $RECEIVER with the secret in $SECRET. With
// an argument it waits until so many were received: receiver, receiver 2.
func receiver(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) > 0 {
		awaitCount(ts, ts.Getenv("RECEIVER"), args[0])
		return
	}
	key := bytes.Repeat([]byte("k"), 32)
	verify, err := webhooks.NewWebhookRaw(key)
	ts.Check(err)
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, taken.Load())
			return
		}
		body, err := io.ReadAll(r.Body)
		if err := cmp.Or(err, verify.Verify(body, r.Header)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		taken.Add(1)
	}))
	ts.Defer(server.Close)
	ts.Setenv("RECEIVER", server.URL)
	ts.Setenv("SECRET", "whsec_"+base64.StdEncoding.EncodeToString(key))
}

// occupy takes a port and puts its address into $TAKEN.
func occupy(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv("TAKEN", l.Addr().String())
}

// hangup asks the processes in the background to read their settings anew.
func hangup(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGHUP))
	}
}
