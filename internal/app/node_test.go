package app_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
)

// settings are those of a node that may reach servers on this machine.
func settings(t testing.TB) config.Settings { return localSettings(t.TempDir()) }

// localSettings are those of a node that polls this machine.
func localSettings(data string) config.Settings {
	s := config.Defaults(func(string) string { return "" })
	s.Data, s.API.Listen = data, "127.0.0.1:0"
	s.Fetch.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s.Limits.Budget = sched.Budget{Polls: 1000, Per: time.Minute}
	s.Limits.Hosts.Delay = 0
	return s
}

// page serves a text that the test can change.
func page(t *testing.T) (url string, text *atomic.Value) {
	text = &atomic.Value{}
	text.Store("one\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, text.Load().(string))
	}))
	t.Cleanup(server.Close)
	return server.URL, text
}

// A receiver is a webhook that says what it received.
func receiver(t *testing.T) (url string, received chan string) {
	received = make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// serve runs a node until the test is over, or stop is called, and returns a
// client of it.
func serve(t *testing.T, s config.Settings, cfg app.ServeConfig) (c *client.Client, url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, at := make(chan error, 1), make(chan string, 1)
	cfg.Announce = func(url string) error { at <- url; return nil }
	cfg.Grace = cmp.Or(cfg.Grace, 5*time.Minute) // a node that is cut off still has its data directory
	go func() { ended <- app.Serve(ctx, s, cfg); close(ended) }()
	var once atomic.Bool
	stop = func() {
		cancel()
		if once.Swap(true) {
			return
		}
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case url = <-at:
	case err := <-ended:
		t.Fatalf("serving ended at once with %v", err)
	}
	return client.New(url, http.DefaultClient.Do), url, stop
}

// change polls a source twice, with a change in between.
func change(t *testing.T, c *client.Client, id freshet.SourceID, text *atomic.Value, to string) {
	t.Helper()
	for _, now := range []string{text.Load().(string), to} {
		text.Store(now)
		if _, err := c.Sources.Poll(t.Context(), id, 30*time.Second, false); err != nil {
			t.Fatal(err)
		}
	}
}

// A node that serves can be found by its data directory, polls what it is asked
// to, tells webhooks, and takes on others without a restart.
func TestServe(t *testing.T) {
	t.Parallel()
	s := settings(t)
	url, text := page(t)
	oldHook, old := receiver(t)
	newHook, fresh := receiver(t)
	hook := func(name, url string) config.Webhook { return config.Webhook{Name: name, URL: url, Unsigned: true} }
	s.Webhooks = []config.Webhook{hook("old", oldHook)}
	next := s
	next.Webhooks = []config.Webhook{hook("new", newHook)}
	next.Limits.Budget = sched.Budget{Polls: 500, Per: time.Minute}
	type loaded struct {
		settings config.Settings
		err      error
	}
	var file atomic.Pointer[loaded]
	file.Store(&loaded{settings: next})
	hangups := make(chan os.Signal)
	reloaded := make(chan [2]config.Settings, 1)
	c, at, stop := serve(t, s, app.ServeConfig{
		Version: "test", Hangups: hangups,
		Load:     func() (config.Settings, error) { l := file.Load(); return l.settings, l.err },
		Reloaded: func(from, to config.Settings) { reloaded <- [2]config.Settings{from, to} },
	})
	found, err := app.ReadAddress(s.Data)
	if err != nil || found.URL != at || !found.Answers(t.Context()) {
		t.Errorf("the data directory says %+v (%v), want %s, and that it answers", found, err, at)
	}
	if other := (app.Address{URL: at, Instance: "another run"}); other.Answers(t.Context()) {
		t.Error("the daemon answers to the name of another run")
	}
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "page", URL: url}); err != nil {
		t.Fatal(err)
	}
	change(t, c, "page", text, "two\n")
	<-old

	hangups <- syscall.SIGHUP
	if took := <-reloaded; took[0].Webhooks[0].Name != "old" || took[1].Webhooks[0].Name != "new" {
		t.Errorf("a reload took on %+v", took)
	}
	status, err := c.Status(t.Context())
	if err != nil || status.Budget != "500/m" || len(status.Sinks) != 1 || status.Sinks[0].Name != "new" || status.Version != "test" || status.StoreBytes == 0 {
		t.Errorf("after the reload the status is %+v (%v)", status, err)
	}
	change(t, c, "page", text, "three\n")
	<-fresh
	if len(old) > 0 {
		t.Errorf("the old webhook still receives: %s", <-old)
	}

	// What cannot be read changes nothing, and is said to who asked.
	file.Store(&loaded{err: errors.New("the file is broken")})
	if err := c.Reload(t.Context()); err == nil || err.Error() != "the file is broken" {
		t.Errorf("a reload of a broken file answers %v", err)
	}
	next.Webhooks = []config.Webhook{hook("bad", "ftp://example.com/")}
	file.Store(&loaded{settings: next})
	if err := c.Reload(t.Context()); err == nil {
		t.Error("a webhook that cannot be told is taken on")
	}
	if status, err := c.Status(t.Context()); err != nil || len(status.Sinks) != 1 || status.Sinks[0].Name != "new" {
		t.Errorf("after reloads that failed the status is %+v (%v)", status, err)
	}
	stop()
	if _, err := os.Stat(filepath.Join(s.Data, "freshet.addr")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a daemon that has ended leaves its address (%v)", err)
	}
}

// The sources of a file are those of the store, from the start and after a
// reload.
func TestServeTakesOnSources(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.File = "freshet.yaml"
	s.Sources = freshet.PackSources(freshet.Source{ID: "a", URL: "http://127.0.0.1:1/a", Paused: true}, freshet.Source{ID: "b", URL: "http://127.0.0.1:1/b", Paused: true})
	next := s
	next.Sources = freshet.PackSources(freshet.Source{ID: "b", URL: "http://127.0.0.1:1/b", Name: "B", Paused: true}, freshet.Source{ID: "c", URL: "http://127.0.0.1:1/c", Paused: true})
	c, _, _ := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return next, nil }})
	names := func() (all string) {
		found, err := c.Sources.List(t.Context(), client.SourceQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			all += fmt.Sprintf("%s:%s ", s.ID, s.Name)
		}
		return all
	}
	if got, want := names(), "a: b: "; got != want {
		t.Errorf("at the start the sources are %q, want %q", got, want)
	}
	if err := c.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := names(), "b:B c: "; got != want {
		t.Errorf("after a reload the sources are %q, want %q", got, want)
	}
}

// What keeps a node from serving is told with what to do about it.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	first := settings(t)
	_, at, _ := serve(t, first, app.ServeConfig{})
	second := settings(t)
	second.API.Listen = at[len("http://"):]
	err := app.Serve(t.Context(), second, app.ServeConfig{})
	if !errors.Is(err, syscall.EADDRINUSE) || freshet.HintOf(err) == "" {
		t.Errorf("a port that is taken gives %v, with the hint %q", err, freshet.HintOf(err))
	}
	second.API.Listen, second.Data = "127.0.0.1:0", first.Data
	if err := app.Serve(t.Context(), second, app.ServeConfig{}); !errors.Is(err, freshet.ErrBusy) {
		t.Errorf("a data directory that is taken gives %v", err)
	}
}

// Over a data directory without a daemon polls are made when somebody asks, and
// no others: neither the policy nor a bound that has long passed makes one.
func TestLocal(t *testing.T) {
	t.Parallel()
	s := settings(t)
	url, text := page(t)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: s.Data})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []freshet.SourceID{"asked", "bound"} {
		// A bound this short is refused today. It may be on record, and has passed whenever one looks.
		if _, err := store.AddSource(t.Context(), freshet.Source{ID: id, URL: url + "/" + string(id), MaxGap: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	looking, err := app.Local(t.Context(), app.Config{Settings: s}, "test", app.Reading)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New("http://localhost", client.InProcess(looking))
	if _, err := c.Sources.Poll(t.Context(), "asked", time.Second, false); err == nil {
		t.Error("a node that makes no polls makes one")
	}
	if err := looking.Close(); err != nil {
		t.Fatal(err)
	}

	for _, to := range []string{"two\n", "three\n"} { // the second time both sources have been seen
		polling, err := app.Local(t.Context(), app.Config{Settings: s, Grace: time.Second}, "test", app.Polling)
		if err != nil {
			t.Fatal(err)
		}
		c = client.New("http://localhost", client.InProcess(polling))
		change(t, c, "asked", text, to)
		change(t, c, "bound", text, to+to)
		if kept, err := c.Sources.Get(t.Context(), "bound"); err != nil || kept.MaxGap != client.Duration(time.Millisecond) {
			t.Errorf("a bound that does not bind is told as %+v (%v)", kept, err)
		}
		if err := polling.Close(); err != nil {
			t.Fatal(err)
		}
	}
	over, err := app.Local(t.Context(), app.Config{Settings: s}, "test", app.Reading)
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	polls, err := client.New("http://localhost", client.InProcess(over)).Outcomes(t.Context(), client.OutcomeQuery{})
	if err != nil || len(polls.Items) != 8 || polls.Items[1].Result != "changed" {
		t.Errorf("eight polls that were asked for are told as %+v (%v)", polls.Items, err)
	}
	for _, o := range polls.Items {
		if o.Cause != "hand" {
			t.Errorf("nobody asked for %+v", o)
		}
	}
}

// A program can put a node into itself, poll with it and read its store.
func TestOpen(t *testing.T) {
	t.Parallel()
	s := settings(t)
	url, _ := page(t)
	seen := make(chan freshet.Outcome, 16)
	n, err := app.Open(t.Context(), app.Config{Settings: s, Observe: func(_ freshet.Source, o freshet.Outcome) { seen <- o }, Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended, err := n.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Daemon.AddSource(ctx, freshet.Source{ID: "page", URL: url}); err != nil {
		t.Fatal(err)
	}
	if o := <-seen; o.Source != "page" || o.Result != freshet.First || o.Cause != freshet.ByPolicy {
		t.Errorf("the policy's first poll ended as %+v", o)
	}
	if got, err := n.Store.Text(t.Context(), "page", 1); err != nil || string(got) != "one\n" {
		t.Errorf("the store has %q (%v)", got, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.Policy = "no such policy"
	if _, err := app.Open(t.Context(), app.Config{Settings: s}); err == nil {
		t.Error("a policy that there is not is taken on")
	}
}
