package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when every bubble begins

// A bench is a daemon at work on a synthetic web, inside a bubble.
type bench struct {
	*daemon.Daemon
	store *sqlite.Store
	stop  func()
}

// begin starts a daemon on the pages of w. The zero limits are quick.
func begin(t *testing.T, dir string, cfg daemon.Config, sources ...freshet.Source) *bench {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Store == nil {
		cfg.Store = store
	} else {
		cfg.Store.(*faulty).Store = store
	}
	if cfg.Policy == nil {
		cfg.Policy = &policy.RoundRobin{}
	}
	if cfg.Limits.Budget.Polls == 0 {
		cfg.Limits.Budget = sched.Budget{Polls: 1, Per: time.Second}
	}
	for _, s := range sources {
		if _, err := store.AddSource(t.Context(), s); err != nil && !errors.Is(err, freshet.ErrConflict) {
			t.Fatal(err)
		}
	}
	b := &bench{Daemon: daemon.New(cfg), store: store}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Errorf("the daemon stopped: %v", err)
		}
	})
	b.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func page(latency time.Duration, every time.Duration) *synth.Web {
	return synth.New(synth.Config{Latency: latency, Now: time.Now, Pages: []synth.Page{
		{ID: "page", Host: "news", ETag: true, Schedule: synth.Regular{Every: every}},
	}})
}

// inBubble runs f with the time of a bubble and a directory of its own.
func inBubble(t *testing.T, f func(t *testing.T, dir string)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { f(t, dir) })
}

func TestCapturesAndGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(10*time.Millisecond, 10*time.Second)
		b := begin(t, dir, daemon.Config{Fetcher: w}, w.Sources()...)
		time.Sleep(35 * time.Second)
		b.stop()
		before := w.Requests()
		b = begin(t, dir, daemon.Config{Fetcher: w}, w.Sources()...)
		time.Sleep(30 * time.Second)
		b.stop()

		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		changes, err := store.Changes(t.Context(), freshet.ChangeQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 6 {
			t.Fatalf("%d changes, want the 6 that happened in 65 s", len(changes))
		}
		for i, c := range changes {
			happened := start.Add(time.Duration(i+1) * 10 * time.Second)
			if c.Seq != i+1 || !c.After.Before(happened) || c.Before.Before(happened) {
				t.Errorf("change %d has seq %d and happened in (%v, %v], want %v among them", i+1, c.Seq, c.After, c.Before, happened)
			}
			text, err := store.Text(t.Context(), c.Source, c.Number)
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := synth.VersionIn(text); n != c.Number || freshet.HashOf(text) != c.To {
				t.Errorf("version %d holds edition %d", c.Number, n)
			}
			if c.Summary == "" {
				t.Errorf("change %d has no summary", i+1)
			}
		}
		if after := w.Requests()[len(before)]; after.Status != 304 && after.Version == before[len(before)-1].Version {
			t.Errorf("the first request after the restart brought %d, want it to ask by what was stored", after.Status)
		}
	})
}

func TestPollByHand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(10*time.Millisecond, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}}}, w.Sources()...)
		defer b.stop()
		time.Sleep(time.Second)
		o, err := b.Poll(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		if o.Cause != freshet.ByHand || o.Result != freshet.Unchanged || o.Began.Sub(start) < time.Minute {
			t.Errorf("a poll by %s after %v: %s, want one by hand when the budget allows it", o.Cause, o.Began.Sub(start), o.Result)
		}
		if _, err := b.Poll(t.Context(), "none"); !errors.Is(err, freshet.ErrNotFound) {
			t.Errorf("poll of no source: %v, want %v", err, freshet.ErrNotFound)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := b.Poll(ctx, "page"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait of 5 s for the next minute's poll ends with %v", err)
		}
	})
}

func TestPollWithoutARun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w}, w.Sources()...)
		b.stop()
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		d := daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: &policy.RoundRobin{}})
		if _, err := d.Poll(t.Context(), "page"); !errors.Is(err, daemon.ErrNotRunning) {
			t.Errorf("a poll that nobody makes: %v, want %v", err, daemon.ErrNotRunning)
		}
	})
}

// A server that answers 304 to everything is found out within a day.
func TestLyingValidator(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		liar := &liar{Web: page(0, time.Minute)}
		b := begin(t, dir, daemon.Config{Fetcher: liar, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Hour}}}, liar.Sources()...)
		defer b.stop()
		time.Sleep(26 * time.Hour)
		w, err := b.store.Source(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		if w.Status.Head.Number != 2 {
			t.Errorf("version %d after 26 hours, want 2: one for the day's question without validators", w.Status.Head.Number)
		}
	})
}

type liar struct{ *synth.Web }

func (l *liar) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if r.ETag != "" {
		return freshet.Response{Status: 304, NotModified: true, Requests: 1, Validators: r.Validators}, nil
	}
	return l.Web.Fetch(ctx, r)
}

// Reading a page differently is a new beginning, not a change of the page.
func TestNewRecipe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w}, w.Sources()...)
		defer b.stop()
		time.Sleep(3 * time.Second)
		s, err := b.store.Source(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		s.Recipe.CSS = "h1"
		if _, err := b.UpdateSource(t.Context(), s.Source); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		s, err = b.store.Source(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		if s.Status.Head.Number != 2 || s.Status.Changes != 0 {
			t.Errorf("%d versions and %d changes, want 2 and none", s.Status.Head.Number, s.Status.Changes)
		}
	})
}

// A policy that learns knows again after a restart what it had learnt.
func TestLearntIsKept(t *testing.T) {
	t.Parallel()
	shares := map[int]float64{} // of the busy page in the first 40 seconds after the restart, by what is recalled
	for _, recall := range []int{0, 10_000} {
		inBubble(t, func(t *testing.T, dir string) {
			w := synth.New(synth.Config{Now: time.Now, Pages: []synth.Page{
				{ID: "busy", Host: "a", Schedule: synth.Regular{Every: time.Minute, Offset: 50 * time.Second}},
				{ID: "calm", Host: "b"}, {ID: "dull", Host: "c"}, {ID: "still", Host: "d"},
			}})
			begin := func(recall int) *bench {
				p, err := policy.New("frequency", policy.Setting{Instant: time.Second, Polls: 1})
				if err != nil {
					t.Fatal(err)
				}
				return begin(t, dir, daemon.Config{Fetcher: w, Policy: p, Start: daemon.StartConfig{Replay: recall}}, w.Sources()...)
			}
			b := begin(0)
			time.Sleep(20 * time.Minute)
			b.stop()
			before := len(w.Requests())
			b = begin(recall)
			time.Sleep(40 * time.Second)
			b.stop()
			busy := 0.0
			for _, r := range w.Requests()[before:] {
				if r.Page == "busy" {
					busy++
				}
			}
			shares[recall] = busy / float64(len(w.Requests())-before)
		})
	}
	if shares[10_000] < 0.6 || shares[0] > 0.5 {
		t.Errorf("after a restart the busy page gets %.2f of the polls, and %.2f when nothing is recalled; want most, and no more than its share", shares[10_000], shares[0])
	}
}

// A faulty store cannot write for a while.
type faulty struct {
	freshet.Store
	broken   atomic.Bool
	given    error
	commits  atomic.Int64
	attempts atomic.Int64
	hops     atomic.Int64
	refuse   func(estimator string) error  // why beliefs cannot be saved; nil means that they can
	hangs    atomic.Pointer[chan struct{}] // no poll is recorded until it is closed; nil means that all are
}

// wait returns when the store does not hang.
func (f *faulty) wait() {
	if free := f.hangs.Load(); free != nil {
		<-*free
	}
}

func (f *faulty) Hop(ctx context.Context, p freshet.Poll, at time.Time, host string) error {
	f.hops.Add(1)
	return f.Store.Hop(ctx, p, at, host)
}

func (f *faulty) SaveState(ctx context.Context, all []freshet.State) error {
	if f.refuse != nil {
		if err := f.refuse(all[0].Key); err != nil {
			return err
		}
	}
	return f.Store.SaveState(ctx, all)
}

func (f *faulty) Begin(ctx context.Context, p freshet.Poll) (freshet.Head, error) {
	f.wait()
	if f.broken.Load() {
		f.attempts.Add(1)
		return freshet.Head{}, f.given
	}
	return f.Store.Begin(ctx, p)
}

func (f *faulty) Commit(ctx context.Context, r freshet.Record) (freshet.Outcome, freshet.Change, error) {
	f.wait()
	if f.broken.Load() {
		f.attempts.Add(1)
		return freshet.Outcome{}, freshet.Change{}, f.given
	}
	f.commits.Add(1)
	return f.Store.Commit(ctx, r)
}

// While the store cannot write nothing is fetched, nothing fetched is lost, and
// all goes on by itself when it can again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(500*time.Millisecond, 10*time.Second)
		f := &faulty{given: fmt.Errorf("commit: %w", freshet.ErrStorage)}
		b := begin(t, dir, daemon.Config{Fetcher: w, Store: f}, w.Sources()...)
		defer b.stop()
		time.Sleep(10*time.Second + 700*time.Millisecond) // a poll that sees edition 2 is under way
		f.broken.Store(true)
		time.Sleep(30 * time.Second)
		if why := b.Status().Trouble; why == "" {
			t.Error("the status says nothing of the trouble")
		}
		asked := len(w.Requests())
		time.Sleep(30 * time.Second)
		if n := len(w.Requests()); n != asked {
			t.Errorf("%d requests while nothing could be stored", n-asked)
		}
		f.broken.Store(false)
		time.Sleep(10 * time.Second)
		if why := b.Status().Trouble; why != "" {
			t.Errorf("the status still says %q", why)
		}
		text, err := b.store.Text(t.Context(), "page", 2)
		if err != nil {
			t.Fatalf("what was fetched when the disk filled up is lost: %v", err)
		}
		if n, _ := synth.VersionIn(text); n != 2 {
			t.Errorf("version 2 holds edition %d", n)
		}
	})
}

// A store that has given up ends the run, with its reason.
func TestFailedStoreEndsTheRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		w := page(0, time.Minute)
		for _, s := range w.Sources() {
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		f := &faulty{Store: store, given: fmt.Errorf("sync: %w: %w", freshet.ErrStoreFailed, freshet.ErrStorage)}
		f.broken.Store(true)
		d := daemon.New(daemon.Config{Store: f, Fetcher: w, Policy: &policy.RoundRobin{}})
		if err := d.Run(t.Context()); !errors.Is(err, freshet.ErrStoreFailed) {
			t.Errorf("the run ended with %v, want %v", err, freshet.ErrStoreFailed)
		}
		if n := len(w.Requests()); n != 0 {
			t.Errorf("%d requests went out that are not recorded", n)
		}
	})
}

// A daemon that is asked to stop lets the poll under way finish, and records it.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(3*time.Second, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w}, w.Sources()...)
		time.Sleep(time.Second)
		b.stop()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("stopped after %v, want 3 s, when the poll had ended", took)
		}
		b = begin(t, dir, daemon.Config{Fetcher: page(time.Hour, time.Hour), Grace: 2 * time.Second})
		time.Sleep(time.Minute)
		asked := time.Now()
		s, err := b.store.Source(t.Context(), "page")
		if err != nil || s.Status.Head.Number != 1 {
			t.Errorf("the poll that was under way left version %d, %v", s.Status.Head.Number, err)
		}
		b.stop()
		if took := time.Since(asked); took != 2*time.Second {
			t.Errorf("a poll that hangs held up the stop for %v, want the grace of 2 s", took)
		}
	})
}

// A lastWord answers, when its poll is cut off, that its host wants to be left alone.
type lastWord struct {
	mu   sync.Mutex
	came []time.Time
}

// Fetch implements [freshet.Fetcher].
func (f *lastWord) Fetch(ctx context.Context, req freshet.Request) (freshet.Response, error) {
	if err := req.Leave(ctx, freshet.Hop{URL: req.URL}); err != nil {
		return freshet.Response{URL: req.URL}, err
	}
	f.mu.Lock()
	f.came = append(f.came, time.Now())
	f.mu.Unlock()
	<-ctx.Done()
	return freshet.Response{URL: req.URL, Status: 503, Requests: 1, RetryAfter: 10 * time.Minute},
		&freshet.FetchError{Class: failure.RetryAfter, Err: errors.New("come back later")}
}

// What a server asks for as the daemon stops holds for the next one.
func TestRetryAfterOfAPollThatIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &lastWord{}
		cfg := daemon.Config{Fetcher: w, Grace: time.Nanosecond}
		b := begin(t, dir, cfg, numbered(1, "https://s%d.example/")...)
		time.Sleep(time.Minute)
		b.stop()
		restart := time.Now()
		b = begin(t, dir, cfg)
		time.Sleep(time.Hour)
		b.stop()
		if len(w.came) != 2 {
			t.Fatalf("the host was asked %d times, want once by each daemon", len(w.came))
		}
		if after := w.came[1].Sub(restart); after < 10*time.Minute {
			t.Errorf("the host was asked %v after it had asked for 10 minutes", after)
		}
	})
}

func TestSync(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := page(0, time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 10, Per: time.Second}}})
		defer b.stop()
		if _, err := b.AddSource(t.Context(), freshet.Source{ID: "hand", URL: "http://news.example.com/hand", Origin: freshet.FromAPI}); err != nil {
			t.Fatal(err)
		}
		steps := []struct {
			name   string
			listed []freshet.Source
			want   daemon.Synced
		}{
			{"new", []freshet.Source{{ID: "a", URL: "http://x.example.com/a"}, {URL: "http://x.example.com/b"}}, daemon.Synced{Added: 2}},
			{"again", []freshet.Source{{ID: "a", URL: "http://x.example.com/a"}, {URL: "http://x.example.com/b"}}, daemon.Synced{Kept: 2}},
			{"edited", []freshet.Source{{ID: "a", URL: "http://x.example.com/a", Weight: 2}, {URL: "http://x.example.com/b"}}, daemon.Synced{Changed: 1, Kept: 1}},
			{"moved", []freshet.Source{{ID: "a", URL: "http://x.example.com/aa", Weight: 2}, {URL: "http://x.example.com/b"}}, daemon.Synced{Changed: 1, Kept: 1}},
			{"one gone", []freshet.Source{{URL: "http://x.example.com/b"}}, daemon.Synced{Kept: 1, Removed: 1}},
			{"back, and one taken over", []freshet.Source{{URL: "http://x.example.com/b"}, {URL: "http://x.example.com/aa"}, {URL: "http://news.example.com/hand"}}, daemon.Synced{Kept: 1, Added: 1, Changed: 1}},
			{"none", nil, daemon.Synced{Removed: 3}},
		}
		for _, s := range steps {
			got, err := b.Sync(t.Context(), freshet.PackSources(s.listed...))
			if err != nil || got != s.want {
				t.Errorf("%s: %+v, %v; want %+v", s.name, got, err, s.want)
			}
		}
		if n := b.Status().Sources; n != 0 {
			t.Errorf("%d sources are watched, want none", n)
		}
	})
}

// The whole way over real sockets, with the real fetcher: no bubble here.
func TestOverTheWire(t *testing.T) {
	t.Parallel()
	web := synth.Demo(1, time.Now())
	server, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Errorf("the web stopped: %v", err)
		}
	})
	seen := make(chan freshet.Outcome, 1000)
	b := begin(t, t.TempDir(), daemon.Config{
		Fetcher: fetch.New(kit.Loopback()),
		Limits:  sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}},
		Observe: func(_ freshet.Source, o freshet.Outcome) { seen <- o },
	}, server.Sources()...)
	first, failed := 0, 0
	for range 10 * len(web.Pages()) { // some may have their second turn before others have their first
		if first == len(web.Pages()) {
			break
		}
		switch o := <-seen; o.Result {
		case freshet.First:
			first++
		case freshet.Failed:
			failed++
			t.Logf("%s: %s: %s", o.Source, o.Failure, o.Err)
		}
	}
	b.stop()
	cancel()
	running.Wait()
	if first < len(web.Pages())*8/10 {
		t.Errorf("%d of %d pages were captured and %d failed", first, len(web.Pages()), failed)
	}
}
