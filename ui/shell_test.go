package ui_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"freshet/ui"
)

// shell returns what a page answers at an address.
func shell(t *testing.T, reader ui.Reader, path string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	ui.New(func(context.Context) ui.Reader { return reader }).Route(mux)
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), httptest.NewRecorder()
	for _, c := range cookies {
		r.AddCookie(c)
	}
	mux.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w
}

// The shell tells a reader who they are and asks for what they will see; a stranger finds
// neither in it. Nothing in it runs, whatever somebody is called.
func TestShell(t *testing.T) {
	type session struct {
		User string `json:"user"`
	}
	const list, early = "/api/v1/sources?sort=attention&amp;named=true&amp;next=true", `rel="preload"`
	evil := ui.Reader{Session: session{`</script><script>canary()</script>`}, Lists: true}
	for _, tt := range []struct {
		name     string
		reader   ui.Reader
		path     string
		has, not []string
	}{
		{"a stranger", ui.Reader{}, "/sources", []string{"<title>Sources · Freshet"}, []string{early, "<h1", "session"}},
		{"a reader", ui.Reader{Session: session{"ada"}, Lists: true}, "/sources", []string{`{"user":"ada"}`, list, "facets", "/api/v1/overview", `<h1 class="title">Sources</h1>`, `href="/sources" aria-current="page"`}, nil},
		{"a reader of a filtered list", ui.Reader{Session: session{"ada"}, Lists: true}, "/sources?q=x", []string{"/api/v1/overview"}, []string{list, "facets"}},
		{"a reader of one source", ui.Reader{Session: session{"ada"}, Lists: true}, "/sources/a", []string{`href="/sources" aria-current="page"`}, []string{list, "<h1"}},
		{"by a share link", ui.Reader{Session: session{""}}, "/sources", []string{`{"user":""}`}, []string{early}},
		{"one with a hostile name", evil, "/", []string{`\u003c/script\u003e`, "flow?hours=24"}, []string{"<script>canary"}},
	} {
		got := shell(t, tt.reader, tt.path)
		for _, want := range tt.has {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: the shell does not have %s:\n%s", tt.name, want, got.Body)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(got.Body.String(), not) {
				t.Errorf("%s: the shell has %s:\n%s", tt.name, not, got.Body)
			}
		}
		if h := got.Header(); h.Get("Content-Security-Policy") != ui.Policy || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: the headers are %v", tt.name, h)
		}
	}
	for value, want := range map[string]string{"dark": `<html lang="en" data-theme="dark">`, "light": `<html lang="en" data-theme="light">`, `x"><script>`: `<html lang="en">`, "": `<html lang="en">`} {
		if got := shell(t, ui.Reader{}, "/", &http.Cookie{Name: "freshet-theme", Value: value}).Body.String(); !strings.Contains(got, want) {
			t.Errorf("with the theme %q the shell has no %s:\n%s", value, want, got)
		}
	}
}

var (
	earlyLink = regexp.MustCompile(`<link rel="preload" as="fetch" crossorigin href="([^"]+)">`)
	barLink   = regexp.MustCompile(`<li><a href="([^"]+)"(?: aria-current="(page)")?>([^<]+)</a></li>`)
)

// shellAt returns what the shell of the daemon asks for early at an address, and its bar.
func (r *rig) shellAt(path string) (early, bar []string) {
	r.Helper()
	answer, err := http.Get(r.url + path)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.Fatal(err)
	}
	for _, m := range earlyLink.FindAllStringSubmatch(string(text), -1) {
		early = append(early, html.UnescapeString(m[1]))
	}
	for _, m := range barLink.FindAllStringSubmatch(string(text), -1) {
		bar = append(bar, m[2]+m[1]+m[3])
	}
	return early, bar
}

// What the shell asks for early is what its screen asks for, to the letter, and it is asked for
// once. The bar of the shell is that of the page: nothing moves when the script comes.
func TestEarlyAnswersAreUsed(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	for _, path := range []string{"/", "/changes", "/sources"} {
		b.visit("/start", "document.querySelector('#address')")
		early, bar := r.shellAt(path)
		if len(early) < 3 {
			t.Fatalf("%s: the shell asks early for %q only", path, early)
		}
		eval[bool](b, `(() => { window.asked = []; const was = fetch; window.fetch = (url, ...more) => { asked.push(String(url)); return was(url, ...more) };
			history.pushState(null, '', '`+path+`'); dispatchEvent(new PopStateEvent('popstate')); return true })()`)
		b.await(screens[path])
		asked := eval[[]string](b, "asked")
		for _, url := range early {
			if url != "/api/v1/overview" && !slices.Contains(asked, url) {
				t.Errorf("%s: the shell asks early for %s, and the screen only for %q", path, url, asked)
			}
		}
		if page := eval[[]string](b, "[...document.querySelectorAll('.bar nav a')].map((a) => (a.ariaCurrent ?? '') + a.getAttribute('href') + a.textContent)"); !slices.Equal(page, bar) {
			t.Errorf("%s: the bar of the shell is %q, that of the page %q", path, bar, page)
		}
		b.visit(path, screens[path])
		for _, url := range early {
			times := eval[int](b, "performance.getEntriesByType('resource').filter((e) => e.name == location.origin + '"+url+"').length")
			if often := path == "/" && url == "/api/v1/overview"; times == 0 || times > 1 && !often { // which is asked for every few seconds
				t.Errorf("%s: %s was asked for %d times, want once", path, url, times)
			}
		}
		if path != "/sources" { // what stands over lists that come later moves them
			continue
		}
		moved := eval[float64](b, `new Promise((done) => { let sum = 0;
			new PerformanceObserver((l) => l.getEntries().forEach((e) => { sum += e.value })).observe({type: 'layout-shift', buffered: true});
			requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum)))) })`, chromedp.EvalAwaitPromise)
		if moved > 0.1 {
			t.Errorf("%s: what was shown moved by %.2f of the window", path, moved)
		}
	}
	b.clean("early")
}
