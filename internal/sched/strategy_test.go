package sched_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/timetable"
	"freshet/internal/sched"
)

func strategy(text string) timetable.Strategy {
	s, err := timetable.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func minutes(ns ...float64) (ds []time.Duration) {
	for _, n := range ns {
		ds = append(ds, time.Duration(n*float64(time.Minute)))
	}
	return ds
}

// timed returns a world with one source that has a strategy and was last seen some time
// before the start, at noon.
func timed(text string, l sched.Limits, seen time.Duration, s freshet.Source) *world {
	w := newWorld(l)
	s.ID, s.URL, s.Strategy = "a", "https://a.example/a", strategy(text)
	at := start.Add(-seen)
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s, Status: freshet.Status{Upto: 1, Seen: at, Begun: at}})
	return w
}

func TestStrategy(t *testing.T) {
	hourly := func(polls float64) sched.Limits {
		l := generous()
		l.Budget = sched.Budget{Polls: polls, Per: time.Hour}
		return l
	}
	courteous := generous()
	courteous.SourceGap, courteous.SourceShare, courteous.Hints = time.Hour, 0.0001, time.Hour
	for _, tt := range []struct {
		name     string
		strategy string
		limits   sched.Limits
		seen     time.Duration
		source   freshet.Source
		want     []time.Duration // within three hours
	}{
		{"at its times", "hour {5, 15, 45}", generous(), time.Minute, freshet.Source{}, minutes(5, 15, 45, 65, 75, 105, 125, 135, 165)},
		{"by the clock of its zone", "day {13:30, 14:00} Europe/Berlin", generous(), time.Minute, freshet.Source{}, minutes(30, 60)},
		{"missed ones are made once", "hour {5, 15, 45}", generous(), 5 * time.Hour, freshet.Source{}, minutes(0, 5, 15, 45, 65, 75, 105, 125, 135, 165)},
		{"however little budget there is", "hour {5, 20}", hourly(2), time.Minute, freshet.Source{}, minutes(5, 20, 65, 80, 125, 140)},
		{"never more than the budget", "hour {5, 20}", hourly(1), time.Minute, freshet.Source{}, minutes(5, 65, 125)},
		{"courtesy is for what nobody asked for", "hour {5, 6, 7}", courteous, time.Minute, freshet.Source{}, minutes(5, 6, 7, 65, 66, 67, 125, 126, 127)},
		{"its own gap is kept, and what it puts off is made after", "hour {5, 6, 7, 30}", generous(), time.Minute, freshet.Source{MinGap: 4 * time.Minute}, minutes(5, 9, 30, 65, 69, 90, 125, 129, 150)},
		{"not paused ones", "hour {5}", generous(), time.Minute, freshet.Source{Paused: true}, nil},
		{"a bound of gaps is none beside it", "hour {5}", generous(), time.Minute, freshet.Source{MaxGap: time.Minute}, minutes(5, 65, 125)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := timed(tt.strategy, tt.limits, tt.seen, tt.source)
			w.run(3*time.Hour - time.Second)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
			for _, p := range w.polls {
				if p.Cause != freshet.ByStrategy {
					t.Errorf("polled by %s at %v", p.Cause, p.At)
				}
			}
		})
	}
}

// A source with a strategy that was never seen has its first look at once.
func TestFirstLookOfAStrategy(t *testing.T) {
	w := newWorld(generous())
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Strategy: strategy("hour {5}")})
	w.run(70 * time.Minute)
	if got, want := w.times("a"), minutes(0, 5, 65); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// A poll that fails is made again when its back-off ends, a few times. Then the next
// time is waited for.
func TestStrategyOfAFailingSource(t *testing.T) {
	for _, tt := range []struct {
		fails int
		want  []time.Duration
	}{
		{1, minutes(5, 6, 65)},
		{3, minutes(5, 6, 7, 8, 65)},
		{9, minutes(5, 6, 7, 8, 65)},
	} {
		l := generous()
		l.Backoff = sched.Backoff{Start: time.Minute, Most: time.Minute, Host: time.Second}
		w := timed("hour {5}", l, time.Minute, freshet.Source{})
		fails := tt.fails
		w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
			if fails--; fails >= 0 {
				o.Result, o.Failure = freshet.Failed, failure.HTTP.WithStatus(404)
			}
		}
		w.run(70 * time.Minute)
		var got []time.Duration // but for what the back-off draws by chance
		for _, at := range w.times("a") {
			got = append(got, at.Round(time.Minute))
		}
		if len(got) != len(tt.want) {
			t.Errorf("%d failures: polled at %v, want about %v", tt.fails, w.times("a"), tt.want)
		}
	}
}

// A host that asks to be left alone is, and the poll is made when it may be.
func TestStrategyWaitsForItsHost(t *testing.T) {
	w := timed("hour {5, 10}", generous(), time.Minute, freshet.Source{})
	w.s.Apply(w.now, sched.HostBackoff{Host: "a.example", For: 20 * time.Minute})
	w.run(70 * time.Minute)
	if got, want := w.times("a"), minutes(20, 65, 70); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// A suspect capture has its second look, and then the strategy goes on. So does one that
// somebody polled by hand.
func TestStrategyBesideOtherWishes(t *testing.T) {
	w := timed("hour {5}", generous(), time.Minute, freshet.Source{})
	w.answer = func(p freshet.Poll, o *freshet.Outcome) {
		if len(w.polls) == 1 {
			o.Result, o.LookAgain = freshet.Doubted, 2*time.Minute
		}
	}
	w.run(30 * time.Minute)
	w.s.Ask("a")
	w.run(40 * time.Minute)
	var causes []freshet.Cause
	for _, p := range w.polls {
		causes = append(causes, p.Cause)
	}
	if got, want := w.times("a"), minutes(5, 7, 30, 65); !slices.Equal(got, want) || !slices.Equal(causes, []freshet.Cause{freshet.ByStrategy, freshet.ByDoubt, freshet.ByHand, freshet.ByStrategy}) {
		t.Errorf("polled at %v by %v, want %v", got, causes, want)
	}
}

// A strategy that is put in force counts from then on, whether it is the source's own or
// that of a tag. Without one the policy has the source again.
func TestStrategyIsPutInForce(t *testing.T) {
	w := newWorld(generous())
	s := freshet.Source{ID: "a", URL: "https://a.example/a", Tags: []string{"news"}}
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s, Status: freshet.Status{Upto: 1, Seen: start.Add(-time.Hour), Begun: start.Add(-time.Hour)}})
	w.run(10 * time.Second) // the policy polls it ten times a second
	before := len(w.polls)
	s.Strategy = strategy("hour {5, 30}")
	w.run(10 * time.Minute)
	if len(w.polls) < before+5000 {
		t.Fatalf("the policy polls it %d times in ten minutes", len(w.polls)-before)
	}
	begun := len(w.polls)
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s})
	w.run(35 * time.Minute)
	s.Strategy = timetable.Strategy{}
	w.s.SetStrategies(w.now, []freshet.TagStrategy{{Tag: "news", Strategy: strategy("hour {55}")}})
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s})
	w.run(20 * time.Minute)
	if got, want := w.times("a")[begun:], minutes(30, 55); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
	begun = len(w.polls)
	w.s.SetStrategies(w.now, nil)
	if w.run(time.Second); len(w.polls) < begun+5 {
		t.Errorf("without a strategy the policy polls it %d times in a second", len(w.polls)-begun)
	}
}

// Strategies go by the clock on the wall, and follow it when it is set.
func TestStrategyFollowsTheClock(t *testing.T) {
	w := timed("hour {5}", generous(), time.Minute, freshet.Source{})
	w.run(30 * time.Minute)
	w.s.Apply(w.now, sched.ClockSet(func() time.Duration { return 20 * time.Minute })) // it is 12:50
	w.run(30 * time.Minute)
	h, _ := w.s.Hold(w.now, "a")
	if got, want := w.times("a"), minutes(5, 45); !slices.Equal(got, want) || h.Planned.Sub(start) != 105*time.Minute {
		t.Errorf("polled at %v, and next at %v; want %v, and at 1h45m", got, h.Planned.Sub(start), want)
	}
}

// Where the policy would spend all of a small budget, planned polls come at their time
// nevertheless, and the policy has the rest.
func TestStrategyBesideAPolicy(t *testing.T) {
	for _, polls := range []float64{1, 4, 6, 20, 100} {
		l := generous()
		l.Budget = sched.Budget{Polls: polls, Per: time.Hour}
		w := timed("day {15:07, 20:33, 22:40}", l, time.Minute, freshet.Source{})
		w.latency = func(freshet.Poll) time.Duration { return time.Second }
		for i := range 5 {
			w.put(freshet.Source{ID: id(i), URL: "https://b.example/"})
		}
		w.run(24 * time.Hour)
		if got, want := w.times("a"), minutes(187, 513, 640); !slices.Equal(got, want) {
			t.Errorf("%v polls an hour: polled at %v, want %v", polls, got, want)
		}
		if others, share := float64(len(w.polls)-3), 24*polls-3; others < 0.8*share || others > share+2 {
			t.Errorf("%v polls an hour: the policy has %v polls of %v", polls, others, share)
		}
	}
}

// However many strategies, at whatever budget, with polls that fail and take their time:
// the budget and the delays of hosts hold, nothing that has a strategy is polled by the
// policy, and a time is only kept when it has come.
func TestStrategiesWithinLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := generous()
		l.Budget = sched.Budget{Polls: float64(rapid.IntRange(1, 60).Draw(t, "polls")), Per: time.Hour}
		l.Workers = rapid.IntRange(1, 5).Draw(t, "workers")
		delay := time.Duration(rapid.IntRange(0, 120).Draw(t, "delay")) * time.Second
		l.Hosts = sched.Politeness{Concurrency: 1, Delay: delay}
		w := newWorld(l)
		sources := rapid.IntRange(1, 12).Draw(t, "sources")
		strategies := map[freshet.SourceID]*timetable.Timetable{}
		for i := range sources {
			s := freshet.Source{ID: id(i), URL: fmt.Sprintf("https://%d.example/", i%3)}
			if rapid.Bool().Draw(t, "timed") {
				s.Strategy = timetable.Strategy{Every: timetable.EveryHour, Minutes: rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 5, rapid.ID).Draw(t, "minutes")}
				slices.Sort(s.Strategy.Minutes)
				table, err := s.Strategy.Timetable()
				if err != nil {
					t.Fatal(err)
				}
				strategies[s.ID] = table
			}
			w.put(s)
		}
		takes := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(t, "takes")
		fails := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(t, "fails")
		w.latency = func(freshet.Poll) time.Duration {
			return time.Duration(takes[len(w.polls)%len(takes)]) * time.Second
		}
		w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
			if fails[len(w.polls)%len(fails)] == 0 {
				o.Result, o.Failure = freshet.Failed, failure.Timeout
			}
		}
		w.run(6 * time.Hour)
		hosts := map[string]time.Time{}
		seen := map[freshet.SourceID]time.Time{}
		for i, p := range w.polls {
			if n := int(l.Budget.Polls); i >= n && p.At.Sub(w.polls[i-n].At) < time.Hour {
				t.Fatalf("%d polls within %v", n+1, p.At.Sub(w.polls[i-n].At))
			}
			host := p.Source.Host()
			if last, ok := hosts[host]; ok && p.At.Sub(last) < delay {
				t.Fatalf("%s is polled %v after it was polled", host, p.At.Sub(last))
			}
			hosts[host] = p.At
			table := strategies[p.Source.ID]
			if (table != nil) != (p.Cause == freshet.ByStrategy) {
				t.Fatalf("%s is polled by %s", p.Source.ID, p.Cause)
			}
			if last := seen[p.Source.ID]; table != nil && !last.IsZero() && table.Next(last).After(p.At) {
				t.Fatalf("%s is polled at %v, and was at %v; its time is %v", p.Source.ID, p.At, last, table.Next(last))
			}
			seen[p.Source.ID] = p.Since
		}
	})
}
