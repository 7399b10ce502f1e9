package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// A shop serves a page that is made of several parts, and notes when it was asked for
// what.
type shop struct {
	*httptest.Server
	parts   int
	waiting chan struct{} // gets one for each request that hangs

	mu   sync.Mutex
	seen []time.Time
}

func openShop(t *testing.T, parts int) *shop {
	s := &shop{parts: parts, waiting: make(chan struct{}, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, time.Now())
		n := len(s.seen)
		s.mu.Unlock()
		switch r.URL.Path {
		case "/page", "/hangs":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><p id=app>nothing</p><script>Promise.all([`)
			for i := range s.parts {
				fmt.Fprintf(w, `fetch("/part%d").then(r => r.text()),`, i)
			}
			if r.URL.Path == "/hangs" {
				fmt.Fprint(w, `fetch("/hang"),`)
			}
			fmt.Fprint(w, `]).then(all => document.getElementById("app").textContent = all.join(" "))</script>`)
		case "/hang":
			s.waiting <- struct{}{}
			<-r.Context().Done()
		case "/robots.txt":
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, "part of request %d", n)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// most returns how many requests there were at most within any stretch of time.
func (s *shop) most(per time.Duration) (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, from := range s.seen {
		n := 0
		for _, at := range s.seen[i:] {
			if at.Before(from.Add(per)) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func needChromium(t *testing.T) {
	t.Helper()
	tier.Chromium(t)
}

// TestRenderedPagesKeepToTheBudget has two pages rendered side by side: the servers
// see no request more than the budget allows, and the pages are captured all the same.
func TestRenderedPagesKeepToTheBudget(t *testing.T) {
	needChromium(t)
	t.Parallel()
	s := settings(t)
	s.Policy = "round-robin"
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share = 0, 1, 1
	s.Limits.Budget = sched.Budget{Polls: 8, Per: 3 * time.Second}
	s.Render.Browsers = 2
	web := openShop(t, 5)
	c, _, _ := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }})
	for _, id := range []freshet.SourceID{"a", "b"} {
		if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: id, URL: web.URL + "/page?" + string(id), Render: true}); err != nil {
			t.Fatal(err)
		}
	}
	captured := map[freshet.SourceID]int{}
	follow(t, c, "both pages to be captured, and one of them again", func(o client.Outcome) bool {
		if o.Version > 0 && o.Requests < 6 { // others are put off when the budget is spent
			t.Errorf("a poll is said to take %d requests, want 6", o.Requests)
		}
		captured[o.Source] = max(captured[o.Source], o.Version)
		return captured["a"] > 0 && captured["b"] > 0 && captured["a"]+captured["b"] >= 3
	})
	if most := web.most(s.Limits.Budget.Per * 9 / 10); most > 8 { // the server may come late to one that was given up
		t.Errorf("the server saw %d requests within %v, and the budget is %s", most, s.Limits.Budget.Per, s.Limits.Budget)
	}
}

// TestBrowserCrashes kills a browser in the middle of a poll: the poll fails, and the
// daemon goes on.
func TestBrowserCrashes(t *testing.T) {
	needChromium(t)
	t.Parallel()
	s := settings(t)
	s.Policy = "round-robin"
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s.Render.Dir = dir
	web := openShop(t, 1)
	var log bytes.Buffer
	var mu sync.Mutex
	c, _, _ := serve(t, s, app.ServeConfig{
		Load: func() (config.Settings, error) { return s, nil },
		Log:  slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)),
	})
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "hangs", URL: web.URL + "/hangs", Render: true}); err != nil {
		t.Fatal(err)
	}
	<-web.waiting
	kit.Until(t, "the browser is killed", func() bool { return killBrowser(t, dir) }) // a starved one may have ended; the page is polled again
	follow(t, c, "the poll to fail", func(o client.Outcome) bool { return o.Failure == failure.RenderCrashed })
	if err := c.Sources.Remove(t.Context(), "hangs", true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "well", URL: web.URL + "/page", Render: true}); err != nil {
		t.Fatal(err)
	}
	follow(t, c, "another page to be captured", func(o client.Outcome) bool { return o.Source == "well" && o.Version > 0 })
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "class=render.crashed") {
		t.Errorf("the log says nothing of the crash:\n%s", log.String())
	}
}

// follow reads the log of polls until there is what is waited for.
func follow(t *testing.T, c *client.Client, what string, done func(client.Outcome) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var q client.OutcomeQuery
	for q.Wait = 10 * time.Second; ; {
		page, err := c.Outcomes(ctx, q)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		for _, o := range page.Items {
			t.Logf("%s: %s, version %d, %d requests, %s %s", o.Source, o.Result, o.Version, o.Requests, o.Failure, o.Error)
			if done(o) {
				return
			}
		}
		q.After = page.Next
	}
}

// killBrowser kills the main process of the browser that has its profile in a directory, if there
// is one.
func killBrowser(t *testing.T, dir string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("--user-data-dir="+dir+"/")) || bytes.Contains(text, []byte("--type=")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		return p.Kill() == nil
	}
	return false
}

// A lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

// Write writes.
func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
