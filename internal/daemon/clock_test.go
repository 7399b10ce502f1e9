package daemon_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// A wallClock is that of a machine, which somebody can set.
type wallClock struct {
	mu    sync.Mutex
	ahead time.Duration // of real time
}

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead).Round(0) // a date alone: only real time knows what has passed
}

func (c *wallClock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
}

// jolts are how far a wall clock is set, and in what words.
var jolts = map[string]time.Duration{
	"an hour ahead":   time.Hour,
	"an hour back":    -time.Hour,
	"not at all":      0,
	"ten years ahead": 10 * 365 * units.Day,
	"ten years back":  -10 * 365 * units.Day,
	"back to 1970":    -start.Sub(time.Unix(0, 0)),
}

// servers answer requests and note in real time when each came.
type servers struct {
	mu   sync.Mutex
	came []arrival
	busy time.Duration // that the host "busy" asks to be left alone
}

type arrival struct {
	at        time.Time
	host, url string
}

func (s *servers) Fetch(_ context.Context, r freshet.Request) (freshet.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return freshet.Response{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = append(s.came, arrival{time.Now(), u.Host, r.URL})
	if u.Host == "busy" {
		return freshet.Response{URL: r.URL, Status: 503, Requests: 1, RetryAfter: s.busy},
			&freshet.FetchError{Class: failure.RetryAfter, Err: fmt.Errorf("come back later")}
	}
	return freshet.Response{
		URL: r.URL, Status: 200, Requests: 1, MediaType: "text/plain", Body: fmt.Appendf(nil, "it is %v", time.Now().Unix()/100),
	}, nil
}

// gaps returns how long after one another the requests came that a test wants,
// up to the end.
func (s *servers) gaps(want func(arrival) bool) (gaps []time.Duration) {
	var last time.Time
	for _, a := range append(slices.Clone(s.came), arrival{at: time.Now()}) {
		if want(a) || a.url == "" {
			if !last.IsZero() {
				gaps = append(gaps, a.at.Sub(last))
			}
			last = a.at
		}
	}
	return gaps
}

var clockLimits = sched.Limits{
	Budget: sched.Budget{Polls: 12, Per: time.Minute},
	Hosts:  sched.Politeness{Delay: 4 * time.Second, Concurrency: 2},
}

func clockSources() []freshet.Source {
	return []freshet.Source{
		{ID: "min", URL: "http://one/min", MinGap: 50 * time.Second, MaxGap: time.Minute},
		{ID: "max", URL: "http://one/max", MinGap: 5 * time.Second, MaxGap: 40 * time.Second},
		{ID: "free", URL: "http://two/free", MaxGap: 50 * time.Second},
		{ID: "busy", URL: "http://busy/page", MaxGap: time.Minute},
	}
}

// keptInRealTime fails unless budget, politeness, Retry-After and gaps were kept
// by the clock that nobody can set. Doubt is how much longer than that a source
// may be left alone.
func keptInRealTime(t *testing.T, s *servers, doubt time.Duration) {
	t.Helper()
	from := 0
	for i, a := range s.came {
		for a.at.Sub(s.came[from].at) >= time.Minute {
			from++
		}
		if n := i + 1 - from; n > 12 {
			t.Errorf("%d requests in the minute before %v, want at most 12", n, a.at.Sub(start))
			break
		}
	}
	of := func(name string) func(arrival) bool {
		return func(a arrival) bool { return a.host == name || a.url == name }
	}
	within := func(name string, shortest, longest time.Duration) {
		gaps := s.gaps(of(name))
		if len(gaps) == 0 {
			t.Fatalf("%s was never polled", name)
		}
		if got := slices.Min(gaps[:max(1, len(gaps)-1)]); len(gaps) > 1 && got < shortest {
			t.Errorf("two polls of %s came %v apart, want at least %v", name, got, shortest)
		}
		if got := slices.Max(gaps); got > longest+doubt {
			t.Errorf("%s was left alone for %v, want at most %v", name, got, longest+doubt)
		}
	}
	within("one", 4*time.Second, 70*time.Second)
	within("two", 4*time.Second, 70*time.Second)
	within("http://one/min", 50*time.Second, 70*time.Second)
	within("http://one/max", 5*time.Second, 70*time.Second)
	within("http://busy/page", s.busy, s.busy+70*time.Second)
}

// However the wall clock is set while the daemon runs, everything that waits
// does so in real time.
func TestClockSetWhileRunning(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"uniform", "auto"} {
		for words, by := range jolts {
			t.Run(policy+" "+words, func(t *testing.T) {
				inBubble(t, func(t *testing.T, dir string) {
					wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
					chosen, learner := small.wired(t, policy)
					b := begin(t, dir, daemon.Config{Fetcher: web, Now: wall.Now, Policy: chosen, Learner: learner, Limits: clockLimits}, clockSources()...)
					time.Sleep(5*time.Minute + 1700*time.Millisecond)
					wall.set(by)
					time.Sleep(5 * time.Minute)
					wall.set(-by)
					time.Sleep(10 * time.Minute)
					b.stop()
					keptInRealTime(t, web, 0)
				})
			})
		}
	}
}

// The same if it is set while the daemon is not running.
func TestClockSetBetweenRuns(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts dozens of daemons")
	for _, policy := range []string{"uniform", "auto"} {
		for words, by := range jolts {
			t.Run(policy+" "+words, func(t *testing.T) {
				inBubble(t, func(t *testing.T, dir string) {
					wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
					for _, set := range []time.Duration{0, by, -by} {
						wall.set(set)
						chosen, learner := small.wired(t, policy)
						b := begin(t, dir, daemon.Config{
							Fetcher: web, Now: wall.Now, Policy: chosen, Learner: learner, Limits: clockLimits,
							Uptime: func() (string, time.Duration) { return "this boot", time.Since(start) },
						}, clockSources()...)
						time.Sleep(5*time.Minute + 1700*time.Millisecond)
						b.stop()
					}
					keptInRealTime(t, web, 0)
				})
			})
		}
	}
}

// The same if it is set while the daemon runs, which ends before it has taken note.
func TestClockSetJustBeforeAnEnd(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts 210 daemons")
	for _, by := range tier.Cases(4, []time.Duration{-time.Hour, -4 * time.Second, 2 * time.Second, time.Hour, -10 * time.Second, -2 * time.Second, 10 * time.Second}) {
		t.Run(by.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
				for range 30 {
					b := begin(t, dir, daemon.Config{
						Fetcher: web, Now: wall.Now, Limits: clockLimits,
						Uptime: func() (string, time.Duration) { return "this boot", time.Since(start) },
					}, clockSources()...)
					time.Sleep(21 * time.Second)
					wall.set(by)
					time.Sleep(3 * time.Second)
					b.stop()
				}
				keptInRealTime(t, web, time.Minute)
			})
		})
	}
}

// Several machines lead in turn, and date by one clock. Each keeps to what the ones before have sent, however
// that clock was set: while it watched, before it was there, or when nobody was.
func TestClockSetBeforeAnotherMachineLeads(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts dozens of daemons")
	for words, row := range map[string]struct {
		lead, rest time.Duration // from when the clock is set until its leader ends, and until the next begins
		watched    time.Duration // how long the next one has watched the clock by then; less than zero if it never looks
	}{
		"while both see it":              {lead: 20 * time.Second, rest: time.Second, watched: time.Minute},
		"while the leader sees it":       {lead: 20 * time.Second, rest: time.Second, watched: 15 * time.Second},
		"when the leader has just ended": {rest: 3 * time.Second, watched: 2 * time.Minute},
		"when nobody sees it":            {rest: 3 * time.Second, watched: time.Second},
		"when nobody watches":            {rest: 3 * time.Second, watched: -1},
	} {
		for _, by := range []time.Duration{7 * time.Second, 40 * time.Second, 3 * time.Minute, -40 * time.Second} {
			t.Run(fmt.Sprintf("%s, by %v", words, by), func(t *testing.T) {
				inBubble(t, func(t *testing.T, dir string) {
					wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
					uptime := func(turn int) func() (string, time.Duration) {
						machine := turn % 3
						return func() (string, time.Duration) {
							return fmt.Sprint("boot ", machine), time.Since(start) + time.Duration(machine)*time.Hour
						}
					}
					const leads = 2 * time.Minute
					seen := &daemon.ObservedClock{}
					for turn := range 4 {
						next, stop := &daemon.ObservedClock{}, make(chan struct{})
						go func() { // what the next one sees meanwhile
							wait := max(0, leads+row.lead+row.rest-row.watched)
							for row.watched >= 0 {
								select {
								case <-time.After(wait):
								case <-stop:
									return
								}
								boot, up := uptime(turn + 1)()
								next.Observe(boot, up, wall.Now())
								wait = time.Second
							}
						}()
						b := begin(t, dir, daemon.Config{Fetcher: web, Now: wall.Now, Limits: clockLimits, Uptime: uptime(turn), Observed: seen}, clockSources()...)
						time.Sleep(leads)
						if row.lead > 0 {
							wall.set(by)
						}
						time.Sleep(row.lead)
						b.stop()
						if row.lead == 0 {
							wall.set(by)
						}
						time.Sleep(row.rest)
						close(stop)
						synctest.Wait()
						seen = next
					}
					keptInRealTime(t, web, 10*time.Minute)
				})
			})
		}
	}
}

// Nothing comes early after a restart because the machine was busy between two
// readings of its clocks, or because its clock was set by less than shows.
func TestClockReadSlowly(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts 72 daemons")
	const late = 300 * time.Millisecond
	up := func() (string, time.Duration) { return "this boot", time.Since(start) }
	readings := map[string]func() (string, time.Duration){
		"at once": up,
		"late":    func() (string, time.Duration) { time.Sleep(late); return up() },
		"before a pause": func() (string, time.Duration) {
			boot, read := up()
			time.Sleep(late)
			return boot, read
		},
	}
	for words, uptime := range readings {
		for _, step := range []time.Duration{-800 * time.Millisecond, 0, 800 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, set by %v", words, step), func(t *testing.T) {
				inBubble(t, func(t *testing.T, dir string) {
					wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
					for range 8 {
						b := begin(t, dir, daemon.Config{Fetcher: web, Now: wall.Now, Limits: clockLimits, Uptime: uptime}, clockSources()...)
						time.Sleep(70 * time.Second)
						if step == 0 {
							changesFallInTime(t, b, web)
						}
						b.stop()
						wall.set(step)
					}
					keptInRealTime(t, web, 10*time.Second)
				})
			})
		}
	}
}

// changesFallInTime fails if a change is said to have come after a moment at which
// the page was already asked for again.
func changesFallInTime(t *testing.T, b *bench, web *servers) {
	t.Helper()
	changes, err := b.store.Changes(t.Context(), freshet.ChangeQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		var asked []time.Time // for the page, up to the change
		for _, a := range web.came {
			if strings.HasSuffix(a.url, "/"+string(c.Source)) && !a.at.After(c.Before) {
				asked = append(asked, a.at)
			}
		}
		if before := asked[len(asked)-2]; c.After.After(before) {
			t.Errorf("change %d of %s is said to have come after %v, and the page was last seen at %v", c.Seq, c.Source, c.After, before)
		}
	}
}

// Where the machine cannot tell how long it has been up, polls that are dated in
// the future are taken to have been made just now: no wait is cut short, and none
// begins anew more than once. That is said once, in the log and in the status.
func TestClockSetBackUnnoticed(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts a dozen daemons")
	for words, by := range jolts {
		if by >= 0 {
			continue
		}
		t.Run(words, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				wall, web := &wallClock{}, &servers{busy: 4 * time.Minute}
				for _, set := range []time.Duration{0, by, 0} {
					wall.set(set)
					chosen, learner := small.wired(t, "auto")
					var log logged
					b := begin(t, dir, daemon.Config{
						Fetcher: web, Now: wall.Now, Policy: chosen, Learner: learner, Limits: clockLimits, Log: slog.New(&log),
					}, clockSources()...)
					time.Sleep(5*time.Minute + 1700*time.Millisecond)
					said := b.Status().Clock
					b.stop()
					if n := log.count("the system clock was set back"); set == 0 && (n != 0 || said != "") || set != 0 && (n != 1 || said == "") {
						t.Errorf("after the clock was set by %v that is logged %d times, and the status says %q", set, n, said)
					}
				}
				keptInRealTime(t, web, 4*time.Minute)
			})
		})
	}
}

// Whoever looks at the daemon is shown dates of the wall clock.
func TestDatesAfterTheClockWasSet(t *testing.T) {
	t.Parallel()
	for words, by := range jolts {
		t.Run(words, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				wall, web := &wallClock{}, &servers{busy: 7 * time.Minute}
				chosen, learner := small.wired(t, "auto")
				b := begin(t, dir, daemon.Config{Fetcher: web, Now: wall.Now, Policy: chosen, Learner: learner, Limits: clockLimits}, clockSources()...)
				defer b.stop()
				time.Sleep(5 * time.Minute)
				wall.set(by)
				time.Sleep(5 * time.Minute)
				near := func(what string, date time.Time) {
					if off := date.Sub(wall.Now()).Abs(); off > 2*time.Minute {
						t.Errorf("%s is dated %v, which is %v from now", what, date, off)
					}
				}
				why, err := b.Why(t.Context(), "min")
				if err != nil {
					t.Fatal(err)
				}
				near("the outlook", why.Outlook.At)
				near("the last look", why.Outlook.Since)
				near("the deadline", why.Hold.Deadline)
				near("the next poll", why.Next)
				o, err := b.Poll(t.Context(), "free")
				if err != nil {
					t.Fatal(err)
				}
				near("the end of a poll", o.Ended)
				near("the look before", o.Since)
				n, err := b.Numbers(t.Context(), daemon.NumbersQuery{})
				if err != nil {
					t.Fatal(err)
				}
				near("the numbers", n.At)
				versions, err := b.store.Versions(t.Context(), "max", freshet.Between{}, 0, 1)
				if err != nil {
					t.Fatal(err)
				}
				near("a version", versions[0].SeenAt)
			})
		})
	}
}

// A logged counts messages.
type logged struct {
	mu   sync.Mutex
	said []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Message)
	return nil
}

func (l *logged) count(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, said := range l.said {
		if strings.Contains(said, what) {
			n++
		}
	}
	return n
}
