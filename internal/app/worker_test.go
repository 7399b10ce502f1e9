package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/auth/access"
	"freshet/internal/cluster"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// workerToken writes a token of workers and returns its file.
func workerToken(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startWorker has a worker work for the daemon at an address until the test is over or it is
// ended, and returns once it has joined.
func startWorker(t *testing.T, c *client.Client, at, name string, agent string) (end func()) {
	t.Helper()
	return startWorkerWith(t, c, at, name, agent, "0123456789abcdef")
}

func startWorkerWith(t *testing.T, c *client.Client, at, name, agent, token string) (end func()) {
	t.Helper()
	s := settings(t)
	s.Fetch.Agent = agent
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- app.RunWorker(ctx, s, app.WorkerConfig{Join: []string{at}, Token: token, Name: name, Slots: 8}, slog.New(slog.DiscardHandler))
	}()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("worker %s ends with %v", name, err)
		}
	})
	t.Cleanup(end)
	joined(t, c, name, true)
	return end
}

// joined waits until a worker is there, or is not.
func joined(t *testing.T, c *client.Client, name string, is bool) {
	t.Helper()
	kit.Until(t, "worker "+name+" comes or goes", func() bool {
		all, err := c.Cluster(t.Context())
		return err == nil && slices.ContainsFunc(all.Hands, func(h client.Worker) bool { return h.Name == name }) == is
	})
}

// TestWorkersPollForADaemon has a daemon that polls nothing itself: workers do, its store has
// what they find, and what only the daemon can do it does all the same.
func TestWorkersPollForADaemon(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Cluster.TokenFile, s.Cluster.OwnSlots, s.Limits.SourceGap = workerToken(t), 0, 0
	var mu sync.Mutex
	agents := map[string]string{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		agents[r.URL.Path] = r.UserAgent()
		mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "what "+r.URL.Path+" says")
	}))
	t.Cleanup(web.Close)
	c, at, _ := serve(t, s, app.ServeConfig{})
	end := startWorker(t, c, at, "far", "the-hand")
	add := func(n client.NewSource) client.Source {
		t.Helper()
		added, err := c.Sources.Add(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Sources.Poll(t.Context(), added.ID, 30*time.Second, false)
		if err != nil || o.Outcome == nil || o.Outcome.Result == freshet.Failed.String() { // the policy may have been first
			t.Fatalf("a poll of %s ends with %+v, %v", added.ID, o, err)
		}
		return added
	}
	plain := add(client.NewSource{URL: web.URL + "/plain"})
	add(client.NewSource{URL: web.URL + "/expects", Expect: map[string]any{"match": "says"}})
	text, err := c.Sources.Text(t.Context(), plain.ID, 1)
	if err != nil || string(text) != "what /plain says\n" {
		t.Errorf("the store has %q, %v", text, err)
	}
	mu.Lock()
	if agents["/plain"] != "the-hand" || agents["/expects"] == "the-hand" {
		t.Errorf("the pages were polled by %v", agents)
	}
	mu.Unlock()
	if err := c.DrainWorker(t.Context(), "nobody"); err == nil {
		t.Error("nobody could be drained")
	}
	end()
	joined(t, c, "far", false)
}

// TestTokensOfWorkers holds that a token which was given out for workers lets a worker in, and no
// other token does.
func TestTokensOfWorkers(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Cluster.TokenFile = workerToken(t)
	c, at, _ := serve(t, s, app.ServeConfig{})
	made := func(scope access.Right) client.MadeToken {
		t.Helper()
		m, err := c.Tokens.Add(t.Context(), client.NewToken{Name: string(scope), Scopes: []access.Right{scope}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	startWorkerWith(t, c, at, "let in", "a", made(access.Work).Secret)
	for _, token := range []string{made(access.Read).Secret, made(access.Administer).Secret, "0123456789abcdeX"} {
		err := app.RunWorker(t.Context(), settings(t), app.WorkerConfig{Join: []string{at}, Token: token, Name: "stranger", Slots: 1}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("a worker with another token ends with %v", err)
		}
	}
}

// A forger is a worker that says it was redirected, and then whatever it likes.
type forger struct{ to string }

// Look implements [worker.Looker].
func (f forger) Look(ctx context.Context, o worker.Task) worker.Result {
	for _, url := range []string{o.URL(), f.to} {
		if err := o.Permit(ctx, freshet.Hop{URL: url}); err != nil {
			return o.Fail(err)
		}
	}
	said := o.Fail(&freshet.FetchError{Class: failure.RetryAfter, Err: errors.New("the forger says so")})
	said.Status, said.Requests, said.RetryAfter = http.StatusTooManyRequests, 2, 24*time.Hour
	return said
}

// Robots implements [worker.Looker].
func (f forger) Robots(context.Context, worker.Task, string) (worker.RobotsResult, error) {
	return worker.RobotsResult{}, errors.New("there is none")
}

// TestAForgedRedirectHoldsNobodyBack has a worker say that its source redirects to a host whose sources no
// worker is given, and that this host wants to be left alone for a day.
func TestAForgedRedirectHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Cluster.TokenFile, s.Limits.SourceGap = workerToken(t), 0
	given, kept := kit.NewOrigin(t), kit.NewOrigin(t)
	kept.PutHTML("/", "what the leader reads")
	c, at, _ := serve(t, s, app.ServeConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.NewWorker(cluster.WorkerConfig{
			Join: []string{at}, Token: "0123456789abcdef", Name: "forger", Slots: 8, Place: "there", Do: http.DefaultTransport.RoundTrip,
			Open: func(cluster.Terms) (worker.Looker, error) { return forger{kept.URL + "/"}, nil },
		}).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	joined(t, c, "forger", true)
	poll := func(n client.NewSource) *client.Outcome {
		t.Helper()
		added, err := c.Sources.Add(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Sources.Poll(t.Context(), added.ID, 30*time.Second, false)
		if err != nil || o.Outcome == nil {
			t.Fatalf("a poll of %s ends with %+v, %v", added.ID, o, err)
		}
		return o.Outcome
	}
	if o := poll(client.NewSource{URL: given.URL + "/", From: "there"}); o.Failure != failure.RetryAfter.AtTarget() || !strings.Contains(o.Error, "forger") {
		t.Fatalf("the worker's poll ends with %s: %s", o.Failure, o.Error)
	}
	if o := poll(client.NewSource{URL: kept.URL + "/", Expect: map[string]any{"match": "leader"}}); o.Result != freshet.First.String() && o.Result != freshet.Unchanged.String() { // the schedule may have polled it first
		t.Errorf("the leader's poll ends with %s %s: %s", o.Result, o.Failure, o.Error)
	}
}

// TestTrustedWorkers has a source with a key in its URL: only a worker whose token the settings name sees it.
func TestTrustedWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	agents := map[string]string{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		agents[r.URL.Path] = r.UserAgent()
		mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "what "+r.URL.Path+" says")
	}))
	t.Cleanup(web.Close)
	var made client.MadeToken
	run := func(path string, trusted []string, want string) {
		t.Helper()
		s := settings(t)
		s.Data, s.Limits.SourceGap = dir, 0
		s.Cluster.TokenFile, s.Cluster.OwnSlots, s.Cluster.Trusted = workerToken(t), 0, trusted
		c, at, stop := serve(t, s, app.ServeConfig{})
		if made.Secret == "" {
			var err error
			if made, err = c.Tokens.Add(t.Context(), client.NewToken{Name: "far", Scopes: []access.Right{access.Work}}); err != nil {
				t.Fatal(err)
			}
		}
		end := startWorkerWith(t, c, at, "far", "the-worker", made.Secret)
		added, err := c.Sources.Add(t.Context(), client.NewSource{URL: web.URL + path + "?api_key=4711"})
		if err != nil {
			t.Fatal(err)
		}
		if o, err := c.Sources.Poll(t.Context(), added.ID, 30*time.Second, false); err != nil || o.Outcome == nil {
			t.Fatalf("a poll of %s ends with %+v, %v", added.ID, o, err)
		}
		mu.Lock()
		if got := agents[path]; (got == "the-worker") != (want == "the-worker") {
			t.Errorf("%s was polled by %q, want %s", path, got, want)
		}
		mu.Unlock()
		end()
		stop()
	}
	run("/before", nil, "the leader")
	run("/after", []string{made.ID}, "the-worker")
}

// After a crash a daemon waits until the workers of the run before can send nothing any more. It does not wait for
// what a crash before that has left.
func TestOnlyWorkersOfTheLastRunAreAwaited(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ago   time.Duration
		waits bool
	}{
		"just now":  {ago: time.Second, waits: true},
		"yesterday": {ago: 20 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s, web := settings(t), kit.NewOrigin(t)
			s.Cluster.TokenFile, s.Cluster.Lease = workerToken(t), time.Second
			store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: s.Data})
			if err != nil {
				t.Fatal(err)
			}
			source := freshet.Source{ID: "a", URL: web.URL + "/", Paused: true}
			if _, err := store.AddSource(t.Context(), source); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Begin(t.Context(), freshet.Poll{Source: source, At: time.Now().Add(-row.ago)}); err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			said := &lockedBuffer{}
			serve(t, s, app.ServeConfig{Log: slog.New(slog.NewTextHandler(said, nil))})
			kit.Until(t, "it runs", func() bool { return strings.Contains(said.String(), "msg=running") })
			if waits := strings.Contains(said.String(), "waiting until the leases of workers"); waits != row.waits {
				t.Errorf("whether it waits is answered with %v:\n%s", waits, said)
			}
		})
	}
}

// TestWorkersKeepTheBudget ends workers again and again while they poll: in no stretch of the
// budget does the server see more requests than it allows.
func TestWorkersKeepTheBudget(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Cluster.TokenFile, s.Cluster.OwnSlots = workerToken(t), 0
	const polls, per = 20, 2 * time.Second
	s.Limits.Budget = sched.Budget{Polls: polls, Per: per}
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share, s.Limits.Hosts.CrawlDelay = 0, 1, 1, 0
	s.Policy = "uniform"
	var mu sync.Mutex
	var seen []time.Time
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, time.Now())
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/moved/") {
			http.Redirect(w, r, "/there"+r.URL.Path[len("/moved"):], http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, time.Now().String())
	}))
	t.Cleanup(web.Close)
	c, at, _ := serve(t, s, app.ServeConfig{})
	for i := range 10 {
		if _, err := c.Sources.Add(t.Context(), client.NewSource{URL: fmt.Sprintf("%s/moved/%d", web.URL, i)}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	for range 4 {
		one := startWorker(t, c, at, "one", "one")
		two := startWorker(t, c, at, "two", "two")
		more := count() + polls/2
		kit.Until(t, "they poll", func() bool { return count() >= more })
		one()
		two()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) < polls {
		t.Errorf("only %d requests were made", len(seen))
	}
	for i := polls; i < len(seen); i++ {
		if apart := seen[i].Sub(seen[i-polls]); apart < per*9/10 { // the server may come late to one that was given up
			t.Errorf("%d requests came within %v", polls+1, apart)
		}
	}
}
