package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"freshet/internal/test/kit"
)

// A reader follows the recipes of the documentation, with a daemon and the sites that they name on this machine.
type reader struct {
	t    *testing.T
	web  *httptest.Server
	data string
	home string
	env  []string

	mu       sync.Mutex
	seen     map[string]int // requests by path
	blocked  bool           // the kettle is behind a captcha
	messages []string       // that a receiver got
}

// handle serves any page: a shop whose kettle becomes cheaper, and then a captcha.
func (r *reader) handle(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodPost {
		text, _ := io.ReadAll(req.Body)
		r.messages = append(r.messages, req.URL.Path+" "+string(text))
		return
	}
	n := r.seen[req.URL.Path]
	r.seen[req.URL.Path]++
	switch {
	case strings.HasSuffix(req.URL.Path, "/robots.txt"):
		http.NotFound(w, req)
	case strings.HasSuffix(req.URL.Path, ".xml"):
		fmt.Fprintf(w, `<rss version="2.0"><channel><title>Blog</title><item><guid>%d</guid><title>Post %d</title></item></channel></rss>`, n, n)
	case strings.Contains(req.URL.Path, "api"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"status": "green", "items": [{"name": "a", "price": %d}]}`, n)
	case strings.HasSuffix(req.URL.Path, "kettle") && r.blocked:
		io.WriteString(w, "<title>Just a moment...</title><h1>Verify you are human</h1><p>Complete the captcha to continue.</p>")
	default:
		state := "sold out"
		if n > 0 {
			state = "in stock"
		}
		fmt.Fprintf(w, `<title>Shop</title><h1>Kettle</h1><p class="price">%d EUR</p><p>%s</p><ul><li class="ad"><a href="/%d">An offer</a></li></ul><table><tr><th>a<th>b<tr><td>1<td>%d</table>`, 150-60*n, state, n, n)
	}
}

// A screen keeps what a command prints, also while it runs.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start starts a command.
func (r *reader) start(c documented) (*exec.Cmd, *screen) {
	out := &screen{}
	cmd := exec.CommandContext(r.t.Context(), "freshet", c.args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), r.env...), strings.NewReader(c.input+"\n"), out, out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, out
}

// run runs a command until it ends, or interrupts it when it has said what is waited for.
func (r *reader) run(c documented, until string) (string, int) {
	cmd, out := r.start(c)
	if until != "" {
		kit.Until(r.t, strings.Join(c.args, " "), func() bool { return strings.Contains(out.String(), until) })
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	}
	_ = cmd.Wait() // the exit code tells
	return out.String(), cmd.ProcessState.ExitCode()
}

// python runs the program in Python that a page has until it has printed a change.
func (r *reader) python(page, said string) {
	_, rest, _ := strings.Cut(page, "```python\n")
	program, _, ok := strings.Cut(rest, "```")
	_, address, listens := strings.Cut(said, "listening on ")
	if !ok || !listens {
		r.t.Fatalf("a program %t, an address %t", ok, listens)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		r.t.Log("without Python")
		return
	}
	var out screen
	cmd := exec.CommandContext(r.t.Context(), "python3", "-c", strings.ReplaceAll(program, "http://127.0.0.1:8080", strings.Fields(address)[0]))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	kit.Until(r.t, "the program in Python sees a change", func() bool { return strings.Contains(out.String(), "kettle") })
	_ = cmd.Process.Kill() // it runs for ever
	_ = cmd.Wait()
}

var (
	onTheWeb = regexp.MustCompile(`https?://(127\.0\.0\.1:8000|[a-z.]*example(?:\.com)?)(/|$)`)
	// The importer has tests of its own for archives, repositories and histories.
	byImporter = regexp.MustCompile(`--history|web\.archive\.org|--from git|\.zip`)
	topics     = regexp.MustCompile(`ntfy://ntfy\.sh/(.*)`)
)

// here returns a command with the addresses and files of this machine.
func (r *reader) here(c documented) documented {
	host := strings.TrimPrefix(r.web.URL, "http://")
	for i, arg := range c.args {
		if i > 0 && c.args[i-1] == "--host" && strings.HasSuffix(arg, ".example") {
			arg = "127.0.0.1"
		}
		if !slices.Contains(c.args, "egress") {
			arg = onTheWeb.ReplaceAllString(arg, r.web.URL+"/$1/")
		}
		arg = topics.ReplaceAllString(arg, "ntfy://"+host+"/$1?scheme=http")
		for from, to := range map[string]string{"/mnt/backups": "backups", "~/": r.home + "/", "crawl.warc.gz": "archive.warc.gz", "/run/secrets/freshet": "password", "0.0.0.0:8080": "127.0.0.1:0", "/var/lib/freshet": r.data} {
			arg = strings.ReplaceAll(arg, from, to)
		}
		c.args[i] = arg
	}
	return c
}

// write makes the files that the recipes take.
func (r *reader) write(files map[string]string) {
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Every command of the tutorial and the recipes runs and succeeds, one after the other, and an alert arrives.
func TestRecipesRun(t *testing.T) {
	pages := documentation(t)
	t.Chdir(t.TempDir())
	r := &reader{t: t, data: t.TempDir(), seen: map[string]int{}}
	r.web = httptest.NewServer(http.HandlerFunc(r.handle))
	defer r.web.Close()
	home := t.TempDir()
	r.home = home
	r.env = []string{"FRESHET_DATA=" + r.data, "HOME=" + home, "FRESHET_CONFIG=none", "FRESHET_ALLOW_CIDR=127.0.0.0/8"}
	r.write(map[string]string{
		"watch.yaml": "sources: [{url: https://watch.example/}]\n", "chain.yaml": "read: [main, {mask: dates}]\n", "password": "a long password",
		home + "/.config/urlwatch/urls.yaml": "url: https://a.example/urlwatch\n", "datastore/url-watches.json": `{"watching": {"a": {"url": "https://a.example/changedetection"}}, "settings": {}}`,
		"distill.json": `{"client": {"local": 1}, "data": [{"name": "N", "uri": "https://a.example/distill", "state": 40, "config": "{\"selections\":[{\"frames\":[{\"includes\":[{\"type\":\"css\",\"expr\":\"p\"}]}]}]}"}]}`, "scenario.json": `{"schema_version": 1, "name": "S", "links": [], "agents": [{"type": "Agents::RssAgent", "name": "R", "options": {"url": "https://a.example/huginn"}}]}`,
		"feeds.opml": `<opml version="2.0"><body><outline type="rss" text="F" xmlUrl="https://a.example/opml"/></body></opml>`, "bookmarks.html": "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><DT><A HREF=\"https://a.example/bookmark\">B</A></DL>",
		"pages.txt": "https://a.example/list tag\n", "pages.csv": "url,name\nhttps://a.example/csv,C\n",
	})
	daemon, said := r.start(documented{args: []string{"serve", "--listen", "127.0.0.1:0", "--host-delay", "0s"}})
	kit.Until(t, "the daemon listens", func() bool { return strings.Contains(said.String(), "listening on ") })
	ran := 0
	var last []documented // when the daemon has stopped
	for _, page := range []string{"tutorial/first-alert", "how-to/alerts", "how-to/difficult-pages", "how-to/running", "how-to/moving-out", "how-to/import"} {
		for _, c := range commandsIn(page, pages["docs/"+page+".md"]) {
			line := strings.Join(c.args, " ")
			c, until, want := r.here(c), "", 0
			switch {
			case page == "how-to/import" && byImporter.MatchString(line):
				continue
			case strings.HasPrefix(line, "backup restore"):
				last = append(last, c)
				continue
			case strings.HasPrefix(line, "serve"):
				if strings.Contains(line, "--tls") {
					want = 2 // the reader has the certificate
				}
				c.args, until = append(c.args, "--listen", "127.0.0.1:0", "--data", t.TempDir()), "listening on "
			case strings.HasPrefix(line, "changes --follow"):
				r.run(documented{args: []string{"poll", "kettle"}}, "") // there are changes
				until = `"cursor"`
			case strings.HasPrefix(line, "cat"):
				r.run(documented{args: []string{"poll", "news"}}, "") // there is a version
			case strings.HasPrefix(line, "confirm"):
				r.mu.Lock()
				r.blocked = true
				r.mu.Unlock()
				r.run(documented{args: []string{"poll", "kettle"}}, "")
			}
			ran++
			if out, code := r.run(c, until); code != want || !strings.Contains(out, until) && want == 0 {
				t.Errorf("%s: freshet %s: exit code %d, want %d\n%s", page, line, code, want, out)
			}
		}
	}
	r.python(pages["docs/how-to/alerts.md"], said.String())
	kit.Until(t, "the alert arrives", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.messages) > 0
	})
	_ = daemon.Process.Signal(os.Interrupt) // it runs
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon: %v\n%s", err, said)
	}
	for _, c := range last {
		ran++
		if out, code := r.run(c, ""); code != 0 {
			t.Errorf("freshet %s: exit code %d\n%s", strings.Join(c.args, " "), code, out)
		}
	}
	if ran < 80 {
		t.Errorf("only %d commands ran", ran)
	}
	t.Logf("%d commands ran", ran)
}
