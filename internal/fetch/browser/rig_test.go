package browser_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// TestMain lets the test binary be the launcher of browsers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "launch-browser" {
		fmt.Fprintln(os.Stderr, browser.Launch(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) > 4 && os.Args[1] == "render-here" {
		renderHere(os.Args[2], os.Args[3], os.Args[4] == "confined")
		os.Exit(1)
	}
	flag.Parse()
	flag.Set("test.parallel", "4") // browsers mostly wait
	os.Exit(m.Run())
}

// renderHere renders a page in this process, which is about to be killed.
func renderHere(url, dir string, confined bool) {
	c := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	cfg := browser.Config{Dir: dir, Do: fetch.NewEgress(c).Do, Total: 4 * time.Minute}
	if confined {
		cfg.Launch = []string{os.Args[0], "launch-browser"}
	}
	r, err := browser.New(cfg)
	if err != nil {
		panic(err)
	}
	b, err := r.Open(context.Background())
	if err != nil {
		panic(err)
	}
	doc, err := fetch.New(c).Fetch(context.Background(), freshet.Request{URL: url})
	if err != nil {
		panic(err)
	}
	for range 3 { // a starved browser gets another try
		b.Render(context.Background(), browser.Page{Document: doc, Settings: rendering.Settings{On: true, Wait: 3 * time.Minute}})
	}
}

// A rig is a web server, and a Renderer that may reach it.
type rig struct {
	*testing.T
	*kit.Origin
	renderer *browser.Renderer
	fetch    fetch.Config
	egress   atomic.Pointer[fetch.Egress]
}

// inside is where nobody must get: an address of this machine that is not opened.
var inside = netip.MustParseAddr("127.0.0.2")

func newRig(t *testing.T, alter ...func(*browser.Config)) *rig {
	t.Parallel()
	tier.Chromium(t)
	g := &rig{T: t, Origin: kit.NewOrigin(t)}
	g.fetch = fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	cfg := browser.Config{
		Launch: []string{os.Args[0], "launch-browser"},
		Dir:    shortDir(t),
		Total:  4 * time.Minute,
		Agent:  "freshet-test",
	}
	if testing.Verbose() {
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, a := range alter {
		a(&cfg)
	}
	g.reach()
	cfg.Do = func(r *http.Request) (*http.Response, error) { return g.egress.Load().Do(r) }
	cfg.Check = func(url string) error { return g.fetch.Refusal(url) }
	var err error
	if g.renderer, err = browser.New(cfg); err != nil {
		t.Fatal(err)
	}
	return g
}

// reach has requests leave as the rig's fetch.Config says now.
func (g *rig) reach() { g.egress.Store(fetch.NewEgress(g.fetch)) }

// shortDir returns a directory for profiles. Paths of sockets must be short, and those
// of the test's own directory are not.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d profiles are left behind", len(left))
		}
		os.RemoveAll(dir)
	})
	return dir
}

// render fetches a page and renders it.
func (g *rig) render(path string, how rendering.Settings) (browser.View, error) {
	return g.renderPage(path, browser.Page{Settings: how, Source: "page"})
}

func (g *rig) renderPage(path string, p browser.Page) (browser.View, error) {
	g.Helper()
	b, err := g.renderer.Open(g.Context())
	if err != nil {
		return browser.View{}, err
	}
	defer b.Close()
	target, err := url.JoinPath(g.URL, path)
	if err != nil {
		g.Fatal(err)
	}
	p.Document, err = fetch.New(g.fetch).Fetch(g.Context(), freshet.Request{URL: target})
	if err != nil {
		g.Fatalf("fetch %s: %v", path, err)
	}
	return b.Render(g.Context(), p)
}

// mustRender renders a page that can be rendered.
func (g *rig) mustRender(path string, how rendering.Settings) browser.View {
	g.Helper()
	v, err := g.render(path, how)
	if err != nil {
		g.Fatalf("render %s: %v", path, err)
	}
	return v
}

func (g *rig) wantBody(v browser.View, parts ...string) {
	g.Helper()
	for _, want := range parts {
		if !strings.Contains(string(v.Body), want) {
			g.Errorf("the page lacks %q:\n%s", want, v.Body)
		}
	}
}

func wantClass(t *testing.T, err error, class failure.Class) {
	t.Helper()
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok || !e.Class.Is(class) {
		t.Errorf("the error is %v, not of class %s", err, class)
	}
}
