package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// A rig is a daemon on a small web, and a browser that looks at its page.
type rig struct {
	*testing.T
	web      *kit.Origin
	api      *client.Client
	url      string
	stop     func() // ends the daemon
	settings config.Settings
}

// open starts a daemon at an address; port 0 takes any.
func open(t *testing.T, listen string) *rig {
	t.Helper()
	tier.Chromium(t)
	r := &rig{T: t, web: kit.NewOrigin(t)}
	s := config.Defaults(func(string) string { return "" })
	s.Data, s.API.Listen = t.TempDir(), listen
	s.Fetch.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s.Limits.Budget = sched.Budget{Polls: 3000, Per: time.Minute}
	s.Limits.Hosts.Delay, s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share = 0, 0, 1, 1
	r.settings = s
	r.serve()
	return r
}

// serve runs the daemon until the test is over, or stop is called.
func (r *rig) serve() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, at := make(chan error, 1), make(chan string, 1)
	s := r.settings
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{
			Load: func() (config.Settings, error) { return s, nil }, Announce: func(url string) error { at <- url; return nil },
		})
	}()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				r.Errorf("serving ended with %v", err)
			}
		})
	}
	r.Cleanup(r.stop)
	select {
	case r.url = <-at:
	case err := <-ended:
		r.Fatalf("serving ended at once with %v", err)
	}
	r.api = client.New(r.url, http.DefaultClient.Do)
}

// watch adds a page as a source and has it polled.
func (r *rig) watch(s client.NewSource) {
	r.Helper()
	if _, err := r.api.Sources.Add(r.Context(), s); err != nil {
		r.Fatal(err)
	}
	r.poll(s.ID)
}

// change gives the page of a source another text and waits until it is captured.
func (r *rig) change(path string, id freshet.SourceID, html string) {
	r.Helper()
	r.changeBy(id, func() { r.web.PutHTML(path, html) })
}

// changeBy changes what a source watches and waits until that is captured. A poll that was under way
// at the time still got the old text.
func (r *rig) changeBy(id freshet.SourceID, change func()) {
	r.Helper()
	version := func() int {
		s, err := r.api.Sources.Get(r.Context(), id)
		if err != nil {
			r.Fatal(err)
		}
		return s.Standing.Version
	}
	before := version()
	change()
	for tries := 0; version() == before; tries++ {
		if tries == 50 {
			r.Fatalf("%s does not change", id)
		}
		r.poll(id)
	}
}

// poll has a source polled.
func (r *rig) poll(id freshet.SourceID) {
	r.Helper()
	if _, err := r.api.Sources.Poll(r.Context(), id, 30*time.Second, false); err != nil {
		r.Fatal(err)
	}
}

// A tab is a tab of a browser, which notes what must not happen.
type tab struct {
	*rig
	ctx     context.Context
	foreign atomic.Pointer[string] // a request to elsewhere
	mu      sync.Mutex
	said    []string // errors on the console
	expect  []string // what may be among them
}

// tab opens a tab of a width and in a colour scheme.
func (r *rig) tab(width, height int64, scheme string) *tab {
	r.Helper()
	ctx := shared.profile(r.T)
	b := &tab{rig: r, ctx: ctx}
	b.resize(width, height, scheme)
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		r.Fatal(err)
	}
	go b.listen(chromedp.Console(ctx))
	go b.guard(chromedp.Events(ctx, network.RequestWillBeSent))
	return b
}

// resize gives the tab another size and colour scheme.
func (b *tab) resize(width, height int64, scheme string) {
	b.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		b.Fatalf("start Chromium: %v", err)
	}
	b.colours(scheme)
}

// colours gives the tab another colour scheme.
func (b *tab) colours(scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// look opens a screen and holds it to what all screens have to be.
func (b *tab) look(name, path, until string) {
	b.Helper()
	b.visit(path, until)
	b.clean(name)
	b.accessible(name)
	b.shot(name)
}

func (b *tab) listen(messages func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if m.Type == "error" || m.IsException() {
			b.mu.Lock()
			b.said = append(b.said, m.String())
			b.mu.Unlock()
		}
	}
}

func (b *tab) guard(requests func(func(network.EventRequestWillBeSent, error) bool)) {
	for q, err := range requests {
		if err != nil {
			return
		}
		if u := q.Request.URL; !strings.HasPrefix(u, b.url) && !strings.HasPrefix(u, "data:") {
			b.foreign.Store(&u)
		}
	}
}

// visit opens a screen and waits until an expression is true.
func (b *tab) visit(path, until string) {
	b.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(b.url+path)); err != nil {
		b.Fatalf("open %s: %v", path, err)
	}
	b.await(until)
}

// await waits until an expression is true. A page that is left meanwhile does not matter: the
// next one is asked.
func (b *tab) await(expression string) {
	b.Helper()
	const patience = 2 * time.Minute
	for end := time.Now().Add(patience); ; {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
		if err == nil {
			return
		}
		left := strings.Contains(err.Error(), "find context") || strings.Contains(err.Error(), "context was destroyed") || strings.Contains(err.Error(), "navigated")
		if left && time.Now().Before(end) {
			continue
		}
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.shot("failed")
		b.Fatalf("waiting for %s: %v; the page says:\n%.2000s", expression, err, text)
	}
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// press types keys.
func (b *tab) press(keys string) {
	b.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		b.Fatalf("press %q: %v", keys, err)
	}
}

// expects says that some requests are answered with a status, which a browser notes on the
// console sooner or later.
func (b *tab) expects(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expect = append(b.expect, fmt.Sprintf("status of %d (", status))
}

// clean fails if the page complained, left, or is wider than its window.
func (b *tab) clean(where string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		if !slices.ContainsFunc(b.expect, func(e string) bool { return strings.Contains(s, e) }) {
			b.Errorf("%s: the console says %s", where, s)
		}
	}
	b.said = nil
	if to := b.foreign.Load(); to != nil {
		b.Errorf("%s: the page asked for %s", where, *to)
	}
	if wide := b.wide(); wide > 0 {
		b.Errorf("%s: the page is %d pixels wider than the window", where, wide)
	}
	if n := eval[int](b, "document.querySelectorAll('h1').length"); n != 1 {
		b.Errorf("%s: the page has %d h1, want one", where, n)
	}
}

// wide returns by how many pixels the page is wider than the window once it has settled:
// what measures its own width does so a frame after the window has changed.
func (b *tab) wide() int {
	b.Helper()
	const settled = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](settled, chromedp.WithPollingTimeout(time.Minute), chromedp.WithPollingInterval(20*time.Millisecond))); err == nil {
		return 0
	}
	return eval[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

// axe is a program that looks for barriers; what it does not find takes a person.
var axe = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("testdata/axe.min.js") })

// byColour are the rules of axe that go by colours.
var byColour = []string{"color-contrast", "link-in-text-block"}

// accessible fails if an automatic check finds a barrier, by some rules or by all.
func (b *tab) accessible(where string, rules ...string) {
	b.Helper()
	if !eval[bool](b, "!!window.axe") {
		program, err := axe()
		if err != nil {
			b.Fatal(err)
		}
		if err := chromedp.Do(b.ctx, chromedp.Evaluate[chromedp.Void](string(program))); err != nil {
			b.Fatal(err)
		}
	}
	options := "{iframes: false}"
	if len(rules) > 0 {
		options = `{iframes: false, runOnly: ["` + strings.Join(rules, `", "`) + `"]}`
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](
		`axe.run(document, `+options+`).then(r => r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map(n => n.html).join(" | ")))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range found {
		b.Errorf("%s: %s", where, f)
	}
}

// shot keeps a picture in the folder that FRESHET_SHOTS names, if it does.
func (b *tab) shot(name string) {
	b.Helper()
	dir := os.Getenv("FRESHET_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", picture, 0o644)
	}
	if err != nil {
		b.Error(err)
	}
}
