package daemon_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
)

// A relay is a web of redirects: a URL leads on or is a page. It notes every request
// as the servers see it.
type relay struct {
	latency time.Duration
	answer  func(url string) step
	shut    func(url string) bool // no connection: no request is made; nil means never

	mu   sync.Mutex
	seen []sight
}

// A step is how a URL answers.
type step struct {
	to    string // where it redirects to; "" if it is a page
	moved bool   // for good
	away  time.Duration
	down  bool
	none  bool   // there is no such page
	body  string // of a page; "" means its URL
}

// A sight is one request as its server sees it.
type sight struct {
	host, url   string
	came, ended time.Time
}

func (r *relay) Fetch(ctx context.Context, req freshet.Request) (res freshet.Response, err error) {
	res.URL = req.URL
	forGood, wait := true, time.Duration(0)
	for {
		if err := req.Leave(ctx, freshet.Hop{URL: res.URL, Wait: wait}); err != nil {
			return res, err
		}
		if r.shut != nil && r.shut(res.URL) {
			return res, &freshet.FetchError{Class: failure.Connect, Err: fmt.Errorf("refused")}
		}
		res.Requests++
		r.mu.Lock()
		at := len(r.seen)
		r.seen = append(r.seen, sight{host: freshet.HostOf(res.URL), url: res.URL, came: time.Now()})
		r.mu.Unlock()
		select {
		case <-time.After(r.latency):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
		r.mu.Lock()
		r.seen[at].ended = time.Now()
		r.mu.Unlock()
		s := r.answer(res.URL)
		switch {
		case s.down:
			res.Status = 500
			return res, &freshet.FetchError{Class: failure.ServerError, Err: fmt.Errorf("down")}
		case s.none:
			res.Status = 404
			return res, &freshet.FetchError{Class: failure.HTTP.WithStatus(404), Err: fmt.Errorf("not found")}
		case s.away > 0 && s.to == "":
			res.Status, res.RetryAfter = 429, s.away
			return res, &freshet.FetchError{Class: failure.RetryAfter, Err: fmt.Errorf("come back in %v", s.away)}
		case s.to == "":
			res.Status, res.MediaType, res.Body = 200, "text/plain", []byte(cmp.Or(s.body, res.URL))
			return res, nil
		}
		if res.URL, wait = s.to, s.away; forGood && s.moved {
			res.Moved = s.to
		} else {
			forGood = false
		}
	}
}

// most returns how many requests the servers saw at most within a stretch of time.
func (r *relay) most(per time.Duration) (most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var came []time.Time
	for _, s := range r.seen {
		came = append(came, s.came)
	}
	slices.SortFunc(came, time.Time.Compare)
	for from, to := 0, 0; to < len(came); to++ {
		for came[to].Sub(came[from]) >= per {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// of returns the requests that a host saw.
func (r *relay) of(host string) (seen []sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seen {
		if s.host == host {
			seen = append(seen, s)
		}
	}
	return seen
}

// closest returns how soon after the end of a request a host saw the next.
func (r *relay) closest(host string) time.Duration {
	least := time.Duration(1 << 62)
	seen := r.of(host)
	for i := 1; i < len(seen); i++ {
		least = min(least, seen[i].came.Sub(seen[i-1].ended))
	}
	return least
}

func chain(n int) func(string) step {
	return func(url string) step {
		host := freshet.HostOf(url)
		name, at, _ := strings.Cut(strings.TrimSuffix(host, ".example"), "-")
		i := 0
		fmt.Sscan(at, &i)
		if i >= n {
			return step{}
		}
		return step{to: fmt.Sprintf("https://%s-%d.example/", name, i+1)}
	}
}

func numbered(n int, url string) (all []freshet.Source) {
	for i := range n {
		all = append(all, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%d", i)), URL: fmt.Sprintf(url, i)})
	}
	return all
}

// outcomesIn returns the polls recorded in a directory whose daemon has stopped.
func outcomesIn(t *testing.T, dir string) []freshet.Outcome {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func (b *bench) outcomes(t *testing.T) []freshet.Outcome {
	t.Helper()
	log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// The budget counts every request that a server sees, also those that follow a
// redirect, in every stretch of time, and across a restart. Sources with more redirects
// than the budget has room for are polled all the same.
func TestBudgetOverRedirects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		sources int
		hops    int
		latency time.Duration
		budget  sched.Budget
	}{
		{"more than the budget", 1, 5, 10 * time.Millisecond, sched.Budget{Polls: 3, Per: time.Minute}},
		{"one a minute", 1, 2, 10 * time.Millisecond, sched.Budget{Polls: 1, Per: time.Minute}},
		{"slow ones", 100, 5, 9 * time.Second, sched.Budget{Polls: 60, Per: time.Minute}},
		{"fast ones", 30, 3, 0, sched.Budget{Polls: 20, Per: time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := &relay{latency: tt.latency, answer: chain(tt.hops)}
				seen := 0
				for range 3 {
					b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: tt.budget}, Grace: time.Second}, numbered(tt.sources, "https://s%d.example/")...)
					time.Sleep(10*tt.budget.Per + 17*time.Second)
					for _, o := range b.outcomes(t) {
						if o.Result.Seen() {
							seen++
						} else if !o.Failure.Is(failure.Deferred) {
							t.Errorf("a poll failed: %s: %s", o.Failure, o.Err)
						}
					}
					b.stop()
				}
				if most := w.most(tt.budget.Per); most > int(tt.budget.Polls) {
					t.Errorf("the servers saw %d requests within %v, want at most %v", most, tt.budget.Per, tt.budget)
				}
				if seen < tt.sources {
					t.Errorf("%d polls saw their source, want %d or more", seen, tt.sources)
				}
			})
		})
	}
}

// Delay, concurrency, Retry-After and failures belong to the host that a redirect
// leads to, hop by hop.
func TestPolitenessOverRedirects(t *testing.T) {
	t.Parallel()
	const delay = time.Second
	limits := sched.Limits{Budget: sched.Budget{Polls: 600, Per: time.Minute}, Hosts: sched.Politeness{Delay: delay, Concurrency: 2}}
	toOne := func(url string) step {
		if freshet.HostOf(url) == "one.example" {
			return step{}
		}
		return step{to: "https://one.example/" + freshet.HostOf(url)}
	}
	t.Run("delay", func(t *testing.T) {
		inBubble(t, func(t *testing.T, dir string) {
			w := &relay{latency: 50 * time.Millisecond, answer: toOne}
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, append(numbered(8, "https://s%d.example/"), freshet.Source{ID: "own", URL: "https://one.example/"})...)
			time.Sleep(40 * time.Second)
			log := b.outcomes(t)
			b.stop()
			b = begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}) // and across a restart
			time.Sleep(10 * time.Second)
			b.stop()
			if got := w.closest("one.example"); got < delay {
				t.Errorf("two requests came %v apart, want %v or more", got, delay)
			}
			if n := len(w.of("one.example")); n < 40 {
				t.Errorf("the host was asked %d times in 50 s, want nearly once in 1.05 s", n)
			}
			for _, o := range log {
				if !o.Result.Seen() {
					t.Errorf("a poll of %s failed: %s", o.Source, o.Err)
				}
				if want := freshet.Route(fmt.Sprintf("%s.example one.example", o.Source)); o.Source != "own" && o.Route != want {
					t.Errorf("the route is %q, want %q", o.Route, want)
				}
			}
		})
	})
	t.Run("same host", func(t *testing.T) {
		inBubble(t, func(t *testing.T, dir string) {
			w := &relay{latency: 50 * time.Millisecond, answer: func(url string) step {
				if strings.HasSuffix(url, "/there") {
					return step{}
				}
				return step{to: "https://s0.example/there"}
			}}
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(1, "https://s%d.example/")...)
			time.Sleep(20 * time.Second)
			b.stop()
			if got, n := w.closest("s0.example"), len(w.of("s0.example")); got < delay || n < 10 {
				t.Errorf("%d requests came %v apart or more, want %v", n, got, delay)
			}
		})
	})
	t.Run("Retry-After", func(t *testing.T) {
		inBubble(t, func(t *testing.T, dir string) {
			var asked time.Time
			w := &relay{latency: 50 * time.Millisecond}
			w.answer = func(url string) step {
				s := toOne(url)
				if s.to == "" && asked.IsZero() && time.Since(start) > 5*time.Second {
					asked = time.Now()
					s.away = 5 * time.Minute
				}
				return s
			}
			all := numbered(8, "https://s%d.example/")
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, all...)
			time.Sleep(2 * time.Minute)
			b.stop()
			b = begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, all...) // the wish outlives a restart
			time.Sleep(6 * time.Minute)
			log := b.outcomes(t)
			b.stop()
			early, before, after := 0, 0, 0
			for _, s := range w.of("one.example") {
				switch since := s.came.Sub(asked); {
				case since < 0:
					before++
				case since < 5*time.Minute:
					early++
				default:
					after++
				}
			}
			if early != 0 || before < 4 || after < 100 {
				t.Errorf("the host saw %d requests before it asked for 5 minutes, %d within them and %d after", before, early, after)
			}
			var failures []failure.Class
			for _, o := range log {
				if !o.Result.Seen() && !o.Failure.Is(failure.DeferredHost) {
					failures = append(failures, o.Failure)
				}
			}
			if !slices.Equal(failures, []failure.Class{failure.RetryAfter}) {
				t.Errorf("the polls failed by %v, want one by %s", failures, failure.RetryAfter)
			}
			// Nobody is asked again and again for a redirect that may not be followed.
			for i := range 8 {
				n := 0
				for _, s := range w.of(fmt.Sprintf("s%d.example", i)) {
					if s.came.After(asked) && s.came.Before(asked.Add(5*time.Minute)) {
						n++
					}
				}
				if n > 3 {
					t.Errorf("source %d was asked %d times while its redirect could not be followed", i, n)
				}
			}
		})
	})
	t.Run("failures", func(t *testing.T) {
		inBubble(t, func(t *testing.T, dir string) {
			w := &relay{latency: 50 * time.Millisecond, answer: func(url string) step {
				if strings.HasSuffix(url, "/own") {
					return step{}
				}
				s := toOne(url)
				s.down = s.to == ""
				return s
			}}
			l := limits
			l.Backoff = sched.Backoff{Start: time.Second, Most: time.Hour, Host: time.Hour}
			all := append(numbered(8, "https://s%d.example/"), freshet.Source{ID: "own", URL: "https://s0.example/own"})
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: l}, all...)
			time.Sleep(10 * time.Minute)
			b.stop()
			if n := len(w.of("one.example")); n != 3 {
				t.Errorf("the host that fails was asked %d times, want 3 and then an hour of peace", n)
			}
			if n := len(w.of("s0.example")); n < 100 {
				t.Errorf("the host that redirects was asked %d times: it is not the one that fails", n)
			}
		})
	})
	t.Run("a redirect that asks to wait", func(t *testing.T) {
		inBubble(t, func(t *testing.T, dir string) {
			w := &relay{latency: 50 * time.Millisecond, answer: func(url string) step {
				s := toOne(url)
				if s.to != "" {
					s.away = 10 * time.Second
				}
				return s
			}}
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(1, "https://s%d.example/")...)
			time.Sleep(time.Minute)
			b.stop()
			to, from := w.of("one.example"), w.of("s0.example")
			if len(to) == 0 || to[0].came.Sub(from[0].ended) < 10*time.Second {
				t.Errorf("a redirect that asked for 10 s was followed at %v", to)
			}
		})
	})
}

// What a poll had sent when the daemon died counts after the restart as if it had just
// been sent, to every host that it had reached.
func TestRedirectsCountAcrossACrash(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits sched.Limits
		rest   time.Duration // after the restart
	}{
		{"politeness", sched.Limits{Budget: sched.Budget{Polls: 600, Per: time.Minute}, Hosts: sched.Politeness{Delay: 20 * time.Second}}, 20 * time.Second},
		{"budget", sched.Limits{Budget: sched.Budget{Polls: 2, Per: time.Minute}}, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := &relay{latency: time.Second, answer: chain(1)}
				cfg := daemon.Config{Fetcher: w, Limits: tt.limits, Grace: time.Nanosecond}
				b := begin(t, dir, cfg, numbered(1, "https://s%d.example/")...)
				time.Sleep(1500 * time.Millisecond)
				b.stop() // the second request is under way, and is never heard of again
				if len(w.of("s0-1.example")) != 1 || len(outcomesIn(t, dir)) != 0 {
					t.Fatalf("the redirect was followed %d times, and %d polls are recorded", len(w.of("s0-1.example")), len(outcomesIn(t, dir)))
				}
				restart := time.Now()
				b = begin(t, dir, cfg, freshet.Source{ID: "own", URL: "https://s0-1.example/"})
				time.Sleep(2 * tt.rest)
				b.stop()
				seen := w.of("s0-1.example")
				if len(seen) < 2 {
					t.Fatal("the host is not asked any more")
				}
				if after := seen[1].came.Sub(restart); after < tt.rest {
					t.Errorf("the host is asked %v after the restart, want %v or more", after, tt.rest)
				}
			})
		})
	}
}

// A poll that waits for leave does not hold up the end of the daemon.
func TestStopsWhileARedirectWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{answer: chain(3)}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Hour}}, Grace: time.Minute}, numbered(1, "https://s%d.example/")...)
		time.Sleep(time.Minute)
		asked := time.Now()
		b.stop()
		if took := time.Since(asked); took > 0 {
			t.Errorf("it stopped after %v, want at once", took)
		}
		if n := len(w.seen); n != 1 {
			t.Errorf("the servers saw %d requests, want 1", n)
		}
	})
}

// Where permanent redirects lead is asked at once from then on, until that fails or a
// day has passed, and is shown as the new URL.
func TestMovedForGood(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		var broken atomic.Bool
		w := &relay{answer: func(url string) step {
			switch freshet.HostOf(url) {
			case "s0.example":
				return step{to: "https://new.example/", moved: true}
			case "new.example":
				return step{to: "https://newer.example/", moved: true, down: broken.Load()}
			case "newer.example":
				return step{to: "https://today.example/"}
			}
			return step{down: broken.Load()}
		}}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 60, Per: time.Hour}, Backoff: sched.Backoff{Start: time.Minute}}}, numbered(1, "https://s%d.example/")...)
		defer func() { b.stop() }()
		time.Sleep(12 * time.Hour)
		if n, to := len(w.of("s0.example")), len(w.of("today.example")); n != 1 || to < 300 {
			t.Errorf("the old URL was asked %d times and the page %d times, want once and often", n, to)
		}
		s, err := b.store.Source(t.Context(), "s0")
		if err != nil || s.Status.Moved.URL != "https://newer.example/" {
			t.Errorf("the source is said to be at %q (%v), want https://newer.example/", s.Status.Moved.URL, err)
		}
		time.Sleep(13 * time.Hour)
		if n := len(w.of("s0.example")); n != 2 {
			t.Errorf("after a day the old URL was asked %d times, want twice", n)
		}
		broken.Store(true)
		time.Sleep(5 * time.Minute)
		if n := len(w.of("s0.example")); n < 3 {
			t.Errorf("the old URL was asked %d times, want again when the new one fails", n)
		}
		if s, err := b.store.Source(t.Context(), "s0"); err != nil || s.Status.Moved.URL != "" {
			t.Errorf("the source is still said to be at %q (%v)", s.Status.Moved.URL, err)
		}
	})
}
