package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// obedient returns limits under which robots.txt files are read for who obeys them only.
func obedient(byDefault bool) sched.Limits {
	return sched.Limits{
		Budget: sched.Budget{Polls: 120, Per: time.Minute},
		Hosts:  sched.Politeness{Delay: time.Second, Obey: byDefault},
	}
}

// A source that obeys is polled if the robots.txt of its host lets it be, and otherwise
// its page is never asked for.
func TestRobotsAreObeyed(t *testing.T) {
	t.Parallel()
	const closed = "User-agent: *\nDisallow: /\n"
	for _, tt := range []struct {
		name      string
		answer    step
		source    freshet.RobotsSetting
		found     bool // for a site
		byDefault bool
		fails     failure.Class // "" means that it is polled
		says      string
		reads     int // of robots.txt
	}{
		{name: "nothing said", answer: step{body: closed}},
		{name: "ignored", answer: step{body: closed}, source: freshet.RobotsIgnore, byDefault: true},
		{name: "obeyed", answer: step{body: closed}, source: freshet.RobotsObey, fails: failure.RobotsDisallow,
			says: `https://a.example/robots.txt disallows the page for freshet: line 2 says "Disallow: /"`, reads: 1},
		{name: "obeyed by default", answer: step{body: closed}, byDefault: true, fails: failure.RobotsDisallow, reads: 1},
		{name: "a page of a site", answer: step{body: closed}, source: freshet.RobotsIgnore, found: true, fails: failure.RobotsDisallow, reads: 1},
		{name: "allowed", answer: step{body: "User-agent: *\nDisallow: /private\n"}, source: freshet.RobotsObey, reads: 1},
		{name: "allowed to us", answer: step{body: closed + "User-agent: freshet\nAllow: /\n"}, source: freshet.RobotsObey, reads: 1},
		{name: "not there", answer: step{none: true}, source: freshet.RobotsObey, reads: 1},
		{name: "down", answer: step{down: true}, source: freshet.RobotsObey, fails: failure.RobotsUnreachable, says: "cannot be read", reads: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := &relay{latency: 100 * time.Millisecond, answer: robots(tt.answer)}
				s := freshet.Source{ID: "s", URL: "https://a.example/page", Robots: tt.source, MinGap: 5 * time.Minute}
				sources := []freshet.Source{s}
				if tt.found {
					s.Of = "site"
					sources = []freshet.Source{{ID: "site", URL: "https://a.example/", Site: &crawl.Settings{}, Paused: true}, s}
				}
				b := begin(t, dir, daemon.Config{Fetcher: w, Limits: obedient(tt.byDefault)}, sources...)
				time.Sleep(30 * time.Minute)
				b.stop()
				seen, reads := w.of("a.example"), 0
				for i, x := range seen {
					if strings.HasSuffix(x.url, "/robots.txt") {
						reads++
					} else if tt.fails != "" {
						t.Errorf("the page was asked for, as request %d", i)
					}
				}
				if reads != tt.reads {
					t.Errorf("robots.txt was read %d times, want %d", reads, tt.reads)
				}
				if reads > 0 && !strings.HasSuffix(seen[0].url, "/robots.txt") {
					t.Errorf("the first request was for %s", seen[0].url)
				}
				log := outcomesIn(t, dir)
				if len(log) == 0 {
					t.Fatal("there was no poll")
				}
				for i, o := range log {
					switch {
					case tt.fails == "" && !o.Result.Seen(), tt.fails != "" && o.Failure != tt.fails:
						t.Fatalf("poll %d ended as %s: %s: %s", i, o.Result, o.Failure, o.Err)
					case !strings.Contains(o.Err, tt.says):
						t.Errorf("poll %d says %q", i, o.Err)
					case tt.fails != "" && o.Requests != 1:
						t.Errorf("poll %d counts %d requests, want one", i, o.Requests)
					case tt.fails == "" && i > 0 && o.Requests != 1, tt.fails == "" && i == 0 && o.Requests != 1+tt.reads:
						t.Errorf("poll %d made %d requests", i, o.Requests)
					}
				}
			})
		})
	}
}

// Each page that redirects lead to has to be allowed by the robots.txt of its own
// origin. That is read before the page is asked for, within the budget and the delay.
func TestRobotsOverRedirects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		closed string // the origin whose robots.txt disallows everything
		to     string // where the page of a.example leads
		want   []string
		fails  failure.Class
	}{
		{"all open", "", "https://b.example/x", []string{"https://a.example/robots.txt", "https://a.example/page", "https://b.example/robots.txt", "https://b.example/x"}, ""},
		{"closed there", "https://b.example", "https://b.example/x", []string{"https://a.example/robots.txt", "https://a.example/page", "https://b.example/robots.txt"}, failure.RobotsDisallow},
		{"closed here", "https://a.example", "https://b.example/x", []string{"https://a.example/robots.txt"}, failure.RobotsDisallow},
		{"another port", "https://a.example:8443", "https://a.example:8443/x", []string{"https://a.example/robots.txt", "https://a.example/page", "https://a.example:8443/robots.txt"}, failure.RobotsDisallow},
		{"the same origin", "", "https://a.example/x", []string{"https://a.example/robots.txt", "https://a.example/page", "https://a.example/x"}, ""},
		{"a closed path of the same origin", "", "https://a.example/private", []string{"https://a.example/robots.txt", "https://a.example/page"}, failure.RobotsDisallow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := &relay{latency: 100 * time.Millisecond, answer: func(url string) step {
					switch {
					case url == tt.closed+"/robots.txt":
						return step{body: "User-agent: *\nDisallow: /\n"}
					case strings.HasSuffix(url, "/robots.txt"):
						return step{body: "User-agent: *\nDisallow: /private\n"}
					case url == "https://a.example/page":
						return step{to: tt.to}
					}
					return step{}
				}}
				b := begin(t, dir, daemon.Config{Fetcher: w, Limits: obedient(true)}, freshet.Source{ID: "s", URL: "https://a.example/page", MinGap: 20 * time.Second})
				time.Sleep(15 * time.Second)
				var urls []string
				w.mu.Lock()
				for i, s := range w.seen {
					urls = append(urls, s.url)
					if i > 0 && s.host == w.seen[i-1].host && s.came.Sub(w.seen[i-1].ended) < time.Second {
						t.Errorf("%s was asked for %v after the request before", s.url, s.came.Sub(w.seen[i-1].ended))
					}
				}
				w.mu.Unlock()
				if !slices.Equal(urls, tt.want) {
					t.Errorf("requests for %v, want %v", urls, tt.want)
				}
				time.Sleep(5 * time.Minute)
				b.stop()
				log := outcomesIn(t, dir)
				if log[0].Failure != tt.fails || log[0].Requests != len(tt.want) {
					t.Errorf("the poll ended as %s %s (%s) with %d requests", log[0].Result, log[0].Failure, log[0].Err, log[0].Requests)
				}
				for _, o := range log[1:] {
					if o.Failure != tt.fails || o.Requests > 2 {
						t.Errorf("a later poll ended as %s with %d requests", o.Failure, o.Requests)
					}
				}
			})
		})
	}
}

// A robots.txt is read again after a day, and what it says then holds. Meanwhile a copy
// is used, also across a restart, and while the file cannot be read.
func TestRobotsChange(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		answer := step{body: "User-agent: *\nDisallow: /\n"}
		w := &relay{latency: 100 * time.Millisecond, answer: func(url string) step { return robots(answer)(url) }}
		reads := func() (n int) {
			for _, s := range w.of("a.example") {
				if strings.HasSuffix(s.url, "/robots.txt") {
					n++
				}
			}
			return n
		}
		source := freshet.Source{ID: "s", URL: "https://a.example/page", Robots: freshet.RobotsObey, MinGap: time.Hour}
		run := func(d time.Duration, least, most, pages int) {
			t.Helper()
			before, had := reads(), len(w.of("a.example"))
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: obedient(false)}, source)
			time.Sleep(d)
			b.stop()
			read := reads() - before
			if asked := len(w.of("a.example")) - had - read; read < least || read > most || asked < pages || pages == 0 && asked > 0 {
				t.Errorf("robots.txt was read %d times and the page %d times, want %d to %d and %d or more", read, asked, least, most, pages)
			}
		}
		run(time.Hour, 1, 1, 0)
		run(time.Hour, 0, 0, 0)
		answer = step{body: "User-agent: *\nDisallow: /x\n"}
		run(20*time.Hour, 0, 0, 0)  // the copy says what it said
		run(30*time.Hour, 2, 2, 20) // after a day, and a day later
		answer = step{down: true}
		run(10*time.Hour, 0, 0, 8)
		run(24*time.Hour, 5, 15, 20) // it cannot be read, and its copy counts
		answer = step{body: "User-agent: *\nDisallow: /\n"}
		run(2*time.Hour, 1, 1, 0) // it is asked for again within the hour
		run(20*time.Hour, 0, 0, 0)
	})
}

// Somebody who edits a source not to obey need not wait for a day.
func TestRobotsSettingIsEdited(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 100 * time.Millisecond, answer: robots(step{body: "User-agent: *\nDisallow: /\n"})}
		source := freshet.Source{ID: "s", URL: "https://a.example/page", Robots: freshet.RobotsObey}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: obedient(false)}, source)
		time.Sleep(time.Hour)
		if n := len(w.of("a.example")); n != 1 {
			t.Errorf("%d requests, want one", n)
		}
		source.Robots = freshet.RobotsIgnore
		if _, err := b.UpdateSource(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(w.of("a.example")); n < 2 {
			t.Error("the page was not polled after the edit")
		}
		b.stop()
	})
}

// Somebody can watch a robots.txt, which is not read for that, and need not be read for
// other pages.
func TestRobotsItselfIsWatched(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 100 * time.Millisecond, answer: robots(step{body: "User-agent: *\nDisallow: /\n"})}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: obedient(true)}, freshet.Source{ID: "s", URL: "https://a.example/robots.txt", MinGap: time.Hour})
		time.Sleep(time.Minute)
		if v, unknown := b.MayPoll("https://a.example/page"); v.Allowed || unknown {
			t.Errorf("a page may be polled: %v, unknown: %v", v.Allowed, unknown)
		}
		b.stop()
		if log := outcomesIn(t, dir); len(log) != 1 || !log[0].Result.Seen() || len(w.of("a.example")) != 1 {
			t.Errorf("%d polls and %d requests: %+v", len(log), len(w.of("a.example")), log)
		}
	})
}

// Many pages of a host share one read of its robots.txt.
func TestRobotsOfManyPages(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 100 * time.Millisecond, answer: robots(step{body: "User-agent: *\nDisallow: /*3$\nCrawl-delay: 2\n"})}
		limits := obedient(true)
		limits.Hosts.CrawlDelay = time.Minute
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(20, "https://a.example/%d")...)
		if _, unknown := b.MayPoll("https://a.example/found"); !unknown {
			t.Error("what the file says is known before it is read")
		}
		time.Sleep(90 * time.Second)
		for path, want := range map[string]bool{"/found": true, "/found3": false} {
			if v, unknown := b.MayPoll("https://a.example" + path); unknown || v.Allowed != want {
				t.Errorf("%s may be polled: %v, unknown: %v", path, v.Allowed, unknown)
			}
		}
		b.stop()
		asked := map[string]int{}
		for _, s := range w.of("a.example") {
			asked[s.url]++
		}
		for i := range 20 {
			url := fmt.Sprintf("https://a.example/%d", i)
			if n := asked[url]; (n > 0) != (i%10 != 3) {
				t.Errorf("%s was asked for %d times", url, n)
			}
		}
		if n := asked["https://a.example/robots.txt"]; n != 1 {
			t.Errorf("robots.txt was read %d times, want once", n)
		}
		if apart := w.closest("a.example"); apart < time.Second {
			t.Errorf("requests were %v apart", apart)
		}
	})
}
