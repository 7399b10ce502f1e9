package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// robots answers with a robots.txt, and with pages at all other URLs.
func robots(answer step) func(string) step {
	return func(url string) step {
		if strings.HasSuffix(url, "/robots.txt") {
			return answer
		}
		return step{}
	}
}

// The Crawl-delay of a host keeps all requests to it apart from when it is known,
// up to the longest that is allowed. It is asked for when a host is polled often, once.
func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	const asks = "User-agent: *\nDisallow: /\nCrawl-delay: 10\n"
	tests := []struct {
		name    string
		answer  step
		longest time.Duration
		gap     time.Duration // between two polls of each source
		reads   int           // of robots.txt
		apart   time.Duration // requests after it was read
		polls   int           // within ten minutes, at least
	}{
		{"kept", step{body: asks}, time.Minute, 0, 1, 10 * time.Second, 55},
		{"for us alone", step{body: "User-agent: freshet\nCrawl-delay: 20\n\n" + asks}, time.Minute, 0, 1, 20 * time.Second, 28},
		{"too long", step{body: "User-agent: *\nCrawl-delay: 3600\n"}, time.Minute, 0, 1, time.Minute, 9},
		{"longer than a hop waits", step{body: "User-agent: *\nCrawl-delay: 45\n"}, time.Minute, 0, 1, 45 * time.Second, 12},
		{"shorter than ours", step{body: "User-agent: *\nCrawl-delay: 0.5\n"}, time.Minute, 0, 1, time.Second, 400},
		{"none", step{body: "User-agent: *\nDisallow:\n"}, time.Minute, 0, 1, time.Second, 400},
		{"not read", step{body: asks}, 0, 0, 0, time.Second, 400},
		{"down", step{down: true}, time.Minute, 0, 1, time.Second, 400},
		{"polled seldom", step{body: asks}, time.Minute, 5 * time.Minute, 0, 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := &relay{latency: 100 * time.Millisecond, answer: robots(tt.answer)}
				limits := sched.Limits{
					Budget: sched.Budget{Polls: 120, Per: time.Minute},
					Hosts:  sched.Politeness{Delay: time.Second, Concurrency: 2, CrawlDelay: tt.longest},
				}
				sources := numbered(5, "https://a.example/%d")
				if tt.gap > 0 {
					sources = sources[:1]
					sources[0].MinGap = tt.gap
				}
				b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, sources...)
				time.Sleep(10 * time.Minute)
				reads, since := 0, w.of("a.example")
				for i, s := range since {
					if strings.HasSuffix(s.url, "/robots.txt") {
						reads++
						since = since[i:]
						break
					}
				}
				for i := 1; i < len(since); i++ {
					if apart := since[i].came.Sub(since[i-1].ended); apart < tt.apart {
						t.Fatalf("request %d came %v after the one before, want %v or more", i, apart, tt.apart)
					}
					if strings.HasSuffix(since[i].url, "/robots.txt") {
						reads++
					}
				}
				if reads != tt.reads {
					t.Errorf("robots.txt was read %d times, want %d", reads, tt.reads)
				}
				log := b.outcomes(t)
				if len(log) < tt.polls {
					t.Errorf("%d polls in ten minutes, want %d or more", len(log), tt.polls)
				}
				came := map[time.Time]bool{}
				for _, s := range w.of("a.example") {
					came[s.came.UTC()] = true
				}
				for _, o := range log {
					if !o.Result.Seen() {
						t.Errorf("a poll failed: %s: %s", o.Failure, o.Err)
					}
					if !came[o.Began.UTC()] {
						t.Errorf("a poll is dated %v, when no request was made", o.Began)
					}
				}
				b.stop()
			})
		})
	}
}

// A host that sends even its robots.txt away is left alone, also after a restart, and the
// page of the poll is not asked for.
func TestRobotsAsksToStayAway(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 100 * time.Millisecond, answer: robots(step{away: 5 * time.Minute})}
		limits := sched.Limits{
			Budget: sched.Budget{Polls: 120, Per: time.Minute},
			Hosts:  sched.Politeness{Delay: time.Second, CrawlDelay: time.Minute},
		}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(3, "https://a.example/%d")...)
		time.Sleep(4 * time.Minute)
		seen := w.of("a.example")
		if len(seen) != 2 || !strings.HasSuffix(seen[1].url, "/robots.txt") {
			t.Errorf("the host saw %v, want a page and its robots.txt", seen)
		}
		away := 0
		for _, o := range b.outcomes(t) {
			if o.Failure.Is(failure.RetryAfter) && o.NotBefore.Sub(o.Ended) == 5*time.Minute {
				away++
			}
		}
		if away != 1 {
			t.Errorf("of %d polls it is recorded that they were sent away, want one", away)
		}
		b.stop()
		b = begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(3, "https://a.example/%d")...)
		time.Sleep(30 * time.Second)
		if seen := w.of("a.example"); len(seen) != 2 {
			t.Errorf("after a restart the host saw %v", seen[2:])
		}
		time.Sleep(2 * time.Minute)
		if n := len(w.of("a.example")); n < 3 {
			t.Errorf("the host saw %d requests after its time away, want more", n)
		}
		b.stop()
	})
}

// A robots.txt that was not even asked for, because there was no connection, does not
// have the page that follows count from too early.
func TestBudgetOverAnUnsentRobots(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{
			latency: 25 * time.Second, answer: robots(step{}),
			shut: func(url string) bool { return strings.HasSuffix(url, "/robots.txt") },
		}
		limits := sched.Limits{
			Budget: sched.Budget{Polls: 4, Per: time.Minute},
			Hosts:  sched.Politeness{Delay: time.Second, CrawlDelay: time.Minute},
		}
		var sources []freshet.Source
		for i := range 8 { // two of each host
			sources = append(sources, freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i)), URL: fmt.Sprintf("https://h%d.example/%d", i/2, i)})
		}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, sources...)
		time.Sleep(10 * time.Minute)
		if most := w.most(time.Minute); most > 4 {
			t.Errorf("the servers saw %d requests within a minute, want at most 4", most)
		}
		b.stop()
	})
}

// What a robots.txt asked for holds from the first poll after a restart, and is read
// again after a day.
func TestCrawlDelayAcrossARestart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 100 * time.Millisecond, answer: robots(step{body: "User-agent: *\nCrawl-delay: 10\n"})}
		limits := sched.Limits{
			Budget: sched.Budget{Polls: 120, Per: time.Minute},
			Hosts:  sched.Politeness{Delay: time.Second, CrawlDelay: time.Minute},
		}
		reads := func() (n int) {
			for _, s := range w.of("a.example") {
				if strings.HasSuffix(s.url, "/robots.txt") {
					n++
				}
			}
			return n
		}
		for range 3 {
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(3, "https://a.example/%d")...)
			time.Sleep(3 * time.Minute)
			b.stop()
		}
		if n := reads(); n != 1 {
			t.Errorf("robots.txt was read %d times in three runs, want once", n)
		}
		seen := w.of("a.example")
		for i := 2; i < len(seen); i++ {
			if apart := seen[i].came.Sub(seen[i-1].ended); apart < 10*time.Second {
				t.Errorf("request %d came %v after the one before, want 10s or more", i, apart)
			}
		}
		time.Sleep(25 * time.Hour)
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: limits}, numbered(3, "https://a.example/%d")...)
		time.Sleep(3 * time.Minute)
		b.stop()
		if n := reads(); n != 2 {
			t.Errorf("robots.txt was read %d times after a day, want twice", n)
		}
	})
}
