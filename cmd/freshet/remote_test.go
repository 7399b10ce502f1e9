package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/auth/access"
	"freshet/internal/sched"
)

// A use is a command line for a daemon elsewhere.
type use struct {
	line string
	need access.Right // that a viewer lacks
	exit int          // of an admin
}

// elsewhere are uses of every verb that talks to a daemon, in an order in which they work.
var elsewhere = []use{
	{line: "list"},
	{line: "show a"},
	{line: "why a"},
	{line: "learning rhythm a"},
	{line: "history a"},
	{line: "diff a"},
	{line: "cat a"},
	{line: "history screenshot a --out shot.png", exit: exitNotFound},
	{line: "history log a"},
	{line: "changes"},
	{line: "search two"},
	{line: "budget numbers"},
	{line: "status"},
	{line: "cluster"},
	{line: "budget"},
	{line: "lab plan --from-store a --polls 10"},
	{line: "export --since 1d"},
	{line: "export changes"},
	{line: "export config"},
	{line: "export csv"},
	{line: "export opml"},
	{line: "export values"},
	{line: "export versions --format warc"},
	{line: "test suggest a --allow-cidr 127.0.0.0/8"},
	{line: "test a --allow-cidr 127.0.0.0/8"},
	{line: "settings"},
	{line: "settings budget=700/m", need: access.Administer},
	{line: "add PAGE/b --id b", need: access.Write},
	{line: "import list.txt", need: access.Write},
	{line: "apply watch.yaml.txt", need: access.Write},
	{line: "edit b --name B", need: access.Write},
	{line: "edit bulk tag x --id b", need: access.Write},
	{line: "pause b", need: access.Write},
	{line: "resume b", need: access.Write},
	{line: "poll b", need: access.Write},
	{line: "confirm b", need: access.Write, exit: exitConflict},
	{line: "poll hook b", need: access.Write},
	{line: "learning import b taught.csv", need: access.Write},
	{line: "learning forecast a", exit: exitNotFound},
	{line: "learning forecast b --rate 2 --until UNTIL", need: access.Write},
	{line: "query add q --when true", need: access.Write},
	{line: "alert a --when true", need: access.Write},
	{line: "query edit seen --name Seen", need: access.Write},
	{line: "alert ack seen", need: access.Write},
	{line: "query list"},
	{line: "query show seen"},
	{line: "query matches seen"},
	{line: "query state count()"},
	{line: "query test seen"},
	{line: "query remove q", need: access.Write},
	{line: "sink add s --kind json PAGE", need: access.Write},
	{line: "sink edit told --tag x", need: access.Write},
	{line: "sink list"},
	{line: "sink show told"},
	{line: "sink owed told"},
	{line: "sink attempts told"},
	{line: "sink letters told"},
	{line: "sink test told", need: access.Write},
	{line: "sink replay told", need: access.Write},
	{line: "sink remove s", need: access.Write},
	{line: "site list"},
	{line: "site show site"},
	{line: "site pages site"},
	{line: "site mirror site --out outdir"},
	{line: "user share add --source a", need: access.Write},
	{line: "user share list", need: access.Write},
	{line: "user share remove none", need: access.Write, exit: exitNotFound},
	{line: "user token list"},
	{line: "user token add t", need: access.Administer},
	{line: "user token remove none", need: access.Administer, exit: exitNotFound},
	{line: "user list", need: access.Administer},
	{line: "user add new", need: access.Administer},
	{line: "user edit new --role editor", need: access.Administer},
	{line: "user remove new", need: access.Administer},
	{line: "user audit", need: access.Administer},
	{line: "cluster worker drain none", need: access.Administer, exit: exitNotFound},
	{line: "lab runs"},
	{line: "lab run --policies uniform", need: access.Write},
	{line: "lab cancel none", need: access.Write, exit: exitNotFound},
	{line: "remove b", need: access.Write},
}

// Every verb that talks to a daemon does so with one elsewhere, by a token of a file: for
// an admin it works, and a viewer is told what is missing. None looks for data here.
func TestEveryVerbElsewhere(t *testing.T) {
	r := newElsewhere(t)
	var all []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden { // an old name
			return
		}
		if c.Flags().Lookup("server") != nil {
			all = append(all, strings.TrimPrefix(c.CommandPath(), "freshet "))
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(r.program(nil, nil).root())
	for _, verb := range all {
		tried := func(u use) bool { return u.line == verb || strings.HasPrefix(u.line, verb+" ") }
		if !slices.ContainsFunc(elsewhere, tried) {
			t.Errorf("nothing tries %s", verb)
		}
	}
	for _, c := range elsewhere {
		code, said := r.run(c.line, "viewer")
		switch {
		case c.need == "" && code != c.exit:
			t.Errorf("a viewer: freshet %s exits with %d: %s", c.line, code, said)
		case c.need != "" && (code != exitError || !strings.Contains(said, "requires the right to ") && !strings.Contains(said, "scope admin")):
			t.Errorf("a viewer: freshet %s exits with %d: %s", c.line, code, said)
		}
		if c.need == "" {
			continue
		}
		if code, said := r.run(c.line, "admin"); code != c.exit {
			t.Errorf("an admin: freshet %s exits with %d: %s", c.line, code, said)
		}
	}
	if code, said := r.run("list", "nobody"); code != exitError || !strings.Contains(said, "not logged in") || !strings.Contains(said, "FRESHET_TOKEN") {
		t.Errorf("with a wrong token: %d %s", code, said)
	}
	if left, err := os.ReadDir(r.home); err != nil || len(left) != 0 {
		t.Errorf("in the data directory of this machine is %v, %v", left, err)
	}
}

// A token comes from a flag, the environment, or a file that the environment names; and a
// file that holds something else is refused before it is sent anywhere.
func TestTokenOfAFile(t *testing.T) {
	r := newElsewhere(t)
	token, err := os.ReadFile(filepath.Join(r.dir, "viewer"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		env  map[string]string
		args []string
		exit int
	}{
		{"no token", nil, nil, exitError},
		{"the variable", map[string]string{"FRESHET_TOKEN": string(token)}, nil, 0},
		{"a file in the environment", map[string]string{"FRESHET_TOKEN_FILE": filepath.Join(r.dir, "viewer")}, nil, 0},
		{"the flag before the variable", map[string]string{"FRESHET_TOKEN": "ft_wrong"}, []string{"--token-file", filepath.Join(r.dir, "viewer")}, 0},
		{"a file with more", nil, []string{"--token-file", filepath.Join(r.dir, "list.txt")}, exitError},
		{"no file", nil, []string{"--token-file", filepath.Join(r.dir, "none")}, exitUsage},
	} {
		var out bytes.Buffer
		p := r.program(&out, c.env)
		if code := p.run(t.Context(), append([]string{"list", "--server", r.url}, c.args...)); code != c.exit {
			t.Errorf("%s: it exits with %d: %s", c.what, code, &out)
		}
	}
	var out bytes.Buffer
	if code := r.program(&out, nil).run(t.Context(), []string{"list", "--token-file", "x"}); code != exitUsage || !strings.Contains(out.String(), "--server names") {
		t.Errorf("a token for no server: %d %s", code, &out)
	}
}

// An elsewhereRig is a daemon with users, and files with their tokens.
type elsewhereRig struct {
	t         *testing.T
	url, page string
	dir       string // with what commands read
	home      string // where there are no data
}

func newElsewhere(t *testing.T) *elsewhereRig {
	t.Helper()
	r := &elsewhereRig{t: t, dir: t.TempDir(), home: t.TempDir()}
	var text atomic.Value
	text.Store("one")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost || q.URL.Path == "/robots.txt" {
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>Page</h1><p>%s</p>", text.Load())
	}))
	t.Cleanup(web.Close)
	r.page = web.URL
	s := config.Defaults(func(string) string { return "" })
	s.Data, s.API.Listen = t.TempDir(), "127.0.0.1:0"
	s.Fetch.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s.Limits = sched.DefaultLimits()
	s.Limits.Budget = sched.Budget{Polls: 3000, Per: time.Minute}
	s.Limits.Hosts.Delay, s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share = 0, 0, 1, 1
	ctx, cancel := context.WithCancel(context.Background())
	ended, at := make(chan error, 1), make(chan string, 1)
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }, Announce: func(url string) error { at <- url; return nil }})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case r.url = <-at:
	case err := <-ended:
		t.Fatal(err)
	}
	r.furnish(s.Data, &text)
	return r
}

// furnish adds what the verbs are tried on, then the users.
func (r *elsewhereRig) furnish(data string, text *atomic.Value) {
	r.t.Helper()
	ctx := r.t.Context()
	address, err := app.ReadAddress(data)
	r.check(err)
	c := remote(address.URL, address.Token, nil)
	_, err = c.Sources.Add(ctx, client.NewSource{ID: "a", URL: r.page + "/a"})
	r.check(err)
	_, err = c.Sources.Add(ctx, client.NewSource{ID: "site", URL: r.page + "/", Site: true})
	r.check(err)
	for _, now := range []string{"one", "two"} {
		text.Store(now)
		_, err = c.Sources.Poll(ctx, "a", time.Minute, false)
		r.check(err)
	}
	_, err = c.Queries.Add(ctx, client.QueryToAdd{NewQuery: client.NewQuery{ID: "seen", Name: "seen", When: "true"}})
	r.check(err)
	_, err = c.Sinks.Add(ctx, "told", client.NewSink{Kind: "json", URL: r.page})
	r.check(err)
	_, err = c.Users.Add(ctx, client.NewUser{Name: "root", Role: access.Admin, Password: "correct horse"})
	r.check(err)
	_, err = c.Users.Add(ctx, client.NewUser{Name: "vi", Role: access.Viewer, Password: "correct horse"})
	r.check(err)
	for file, t := range map[string]struct {
		user   string
		scopes []access.Right
	}{"admin": {"root", []access.Right{access.Read, access.Write, access.Administer}}, "viewer": {"vi", []access.Right{access.Read}}} {
		r.file(file, r.tokenOf(t.user, t.scopes)+"\n")
	}
	r.file("nobody", "ft_wrong")
	r.file("list.txt", r.page+"/c tag\n"+r.page+"/d\n")
	r.file("watch.yaml.txt", "sources: [{id: e, url: '"+r.page+"/e'}]\n")
	r.file("taught.csv", "2026-01-01T00:00:00Z\n2026-01-02T00:00:00Z\n")
}

// tokenOf logs a user in and makes a token.
func (r *elsewhereRig) tokenOf(user string, scopes []access.Right) string {
	r.t.Helper()
	jar := ""
	c := client.New(r.url, func(q *http.Request) (*http.Response, error) {
		if jar != "" {
			q.Header.Set("Cookie", jar)
		}
		resp, err := http.DefaultClient.Do(q)
		if err == nil && resp.Header.Get("Set-Cookie") != "" {
			jar, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
		}
		return resp, err
	})
	resp, err := http.Post(r.url+"/api/v1/session", "application/json", strings.NewReader(`{"user": "`+user+`", "password": "correct horse"}`))
	r.check(err)
	resp.Body.Close()
	jar, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	made, err := c.Tokens.Add(r.t.Context(), client.NewToken{Name: user, Scopes: scopes})
	r.check(err)
	return made.Secret
}

func (r *elsewhereRig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *elsewhereRig) file(name, text string) {
	r.t.Helper()
	r.check(os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600))
}

// program returns freshet in an environment without data.
func (r *elsewhereRig) program(out io.Writer, env map[string]string) *program {
	return &program{in: strings.NewReader("correct horse\n"), out: out, err: out, now: time.Now, env: func(name string) string {
		if name == "FRESHET_DATA" {
			return r.home
		}
		return env[name]
	}}
}

// run runs a command line with a token, and returns the exit code and all that was said.
func (r *elsewhereRig) run(line, token string) (int, string) {
	r.t.Helper()
	var out bytes.Buffer
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = strings.NewReplacer("PAGE", r.page, "UNTIL", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)).Replace(a)
		if strings.Contains(a, ".txt") || strings.Contains(a, ".csv") || a == "outdir" || strings.HasSuffix(a, ".png") {
			args[i] = filepath.Join(r.dir, a)
		}
	}
	code := r.program(&out, nil).run(r.t.Context(), append(args, "--server", r.url, "--token-file", filepath.Join(r.dir, token)))
	return code, out.String()
}
