package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// after returns a moment counted from the start.
func after(d time.Duration) time.Time { return start.Add(d) }

func TestHold(t *testing.T) {
	failed := func(class failure.Class) func(freshet.Poll, *freshet.Outcome) {
		return func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, class }
	}
	forAMinute := func(freshet.Poll) time.Duration { return time.Minute }
	tests := []struct {
		name    string
		limits  func(*sched.Limits)
		source  freshet.Source
		others  []freshet.Source
		latency func(freshet.Poll) time.Duration
		answer  func(freshet.Poll, *freshet.Outcome)
		robots  time.Duration
		run     time.Duration
		ask     bool
		want    sched.Hold
		words   string
	}{
		{
			name:  "nothing at all",
			words: "nothing holds it back",
		},
		{
			name:    "a poll of it",
			latency: forAMinute,
			run:     time.Second,
			want:    sched.Hold{Kind: sched.HoldUnderWay},
			words:   "a poll of it is under way",
		},
		{
			name:   "the operator",
			source: freshet.Source{Paused: true},
			run:    time.Second,
			want:   sched.Hold{Kind: sched.HoldPaused},
			words:  "it is paused",
		},
		{
			name:   "the operator, but somebody asked all the same",
			source: freshet.Source{Paused: true},
			ask:    true,
			want:   sched.Hold{Asked: true},
			words:  "nothing holds it back",
		},
		{
			name:   "its own bound, and when the other one runs out",
			source: freshet.Source{MinGap: 10 * time.Minute, MaxGap: time.Hour},
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldMinGap, Until: after(10 * time.Minute), Deadline: after(time.Hour)},
			words:  "its min_gap has not passed",
		},
		{
			name:   "the gap of all sources",
			limits: func(l *sched.Limits) { l.SourceGap = 10 * time.Minute },
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldSourceGap, Until: after(10 * time.Minute)},
			words:  "it was polled a moment ago, and source_gap keeps polls of one source apart",
		},
		{
			name:   "the gap of all sources, which its deadline ends",
			limits: func(l *sched.Limits) { l.SourceGap = 10 * time.Minute },
			source: freshet.Source{MaxGap: 5 * time.Minute},
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldSourceGap, Until: after(5 * time.Minute), Deadline: after(5 * time.Minute)},
			words:  "it was polled a moment ago, and source_gap keeps polls of one source apart",
		},
		{
			name:   "the gap of all sources does not hold back who asks",
			limits: func(l *sched.Limits) { l.SourceGap = 10 * time.Minute },
			run:    time.Minute,
			ask:    true,
			want:   sched.Hold{Asked: true},
			words:  "nothing holds it back",
		},
		{
			name:   "a failure",
			limits: func(l *sched.Limits) { l.Backoff.Gone = time.Hour },
			answer: failed("gone"),
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldBackoff, Until: after(time.Hour), Failures: 1},
			words:  "it is left alone after a failed poll",
		},
		{
			name:   "two things, of which a failure lasts longer than its own bound",
			limits: func(l *sched.Limits) { l.Backoff.Gone = time.Hour },
			source: freshet.Source{MinGap: 10 * time.Minute},
			answer: failed("gone"),
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldBackoff, Until: after(time.Hour), Failures: 1},
			words:  "it is left alone after a failed poll",
		},
		{
			name:   "two things, of which its own bound lasts longer than a failure",
			limits: func(l *sched.Limits) { l.Backoff.Gone = 10 * time.Minute },
			source: freshet.Source{MinGap: time.Hour},
			answer: failed("gone"),
			run:    time.Minute,
			want:   sched.Hold{Kind: sched.HoldMinGap, Until: after(time.Hour)},
			words:  "its min_gap has not passed",
		},
		{
			name:   "a failure does not hold back who asks",
			limits: func(l *sched.Limits) { l.Backoff.Gone = time.Hour },
			answer: failed("gone"),
			run:    time.Minute,
			ask:    true,
			want:   sched.Hold{Asked: true},
			words:  "nothing holds it back",
		},
		{
			name:   "politeness",
			limits: func(l *sched.Limits) { l.Hosts.Delay = 5 * time.Second },
			run:    time.Second,
			want:   sched.Hold{Kind: sched.HoldHostWait, Until: after(5 * time.Second)},
			words:  "its host was polled a moment ago, and hosts.delay keeps polls of one host apart",
		},
		{
			name:   "what the robots.txt of its host asks for",
			limits: func(l *sched.Limits) { l.Hosts.Delay, l.Hosts.CrawlDelay = 5*time.Second, time.Minute },
			robots: 20 * time.Second,
			run:    time.Second,
			want:   sched.Hold{Kind: sched.HoldCrawlDelay, Until: after(20 * time.Second)},
			words:  "the robots.txt of its host asks for a pause between requests (Crawl-delay)",
		},
		{
			name:   "another poll of its host",
			limits: func(l *sched.Limits) { l.Hosts.Concurrency = 1 },
			others: []freshet.Source{{ID: "b", URL: "https://a.example/b"}},
			latency: func(p freshet.Poll) time.Duration {
				return map[freshet.SourceID]time.Duration{"b": time.Hour}[p.Source.ID]
			},
			run:   time.Minute,
			want:  sched.Hold{Kind: sched.HoldHostBusy},
			words: "another poll of its host is under way",
		},
		{
			name: "the host's own wish, which lasts longer than the back-off",
			answer: func(p freshet.Poll, o *freshet.Outcome) {
				o.Result, o.Failure, o.NotBefore = freshet.Failed, "retry_after", p.At.Add(time.Hour)
			},
			run:   time.Second,
			want:  sched.Hold{Kind: sched.HoldHostAway, Until: after(time.Hour)},
			words: "its host asked to be left alone",
		},
		{
			name:   "too many polls under way",
			limits: func(l *sched.Limits) { l.Workers = 1 },
			source: freshet.Source{MinGap: time.Second}, // so that the other has its turn
			others: []freshet.Source{{ID: "b", URL: "https://b.example/"}},
			latency: func(p freshet.Poll) time.Duration {
				return map[freshet.SourceID]time.Duration{"b": time.Hour}[p.Source.ID]
			},
			run:   time.Minute,
			want:  sched.Hold{Kind: sched.HoldWorkers},
			words: "as many polls as may be are under way",
		},
		{
			name:   "the budget of the instant",
			limits: func(l *sched.Limits) { l.Budget = sched.Budget{Polls: 6, Per: time.Minute} },
			run:    time.Second,
			want:   sched.Hold{Kind: sched.HoldBudget, Until: after(10 * time.Second)},
			words:  "the budget is spent for the moment",
		},
		{
			name: "the budget of the stretch, which opens after the next instant",
			limits: func(l *sched.Limits) {
				l.Budget = sched.Budget{Polls: 4, Per: time.Minute, Instant: 15 * time.Second}
			},
			latency: func(freshet.Poll) time.Duration { return 20 * time.Second },
			answer:  func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 4 },
			run:     30 * time.Second,
			want:    sched.Hold{Kind: sched.HoldBudget, Until: after(80 * time.Second)},
			words:   "the budget is spent for the moment",
		},
		{
			name: "the budget of the stretch, which redirects have eaten",
			limits: func(l *sched.Limits) {
				l.Budget = sched.Budget{Polls: 4, Per: time.Minute, Instant: 15 * time.Second}
			},
			answer: func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 4 },
			run:    10 * time.Second,
			want:   sched.Hold{Kind: sched.HoldBudget, Until: after(time.Minute)},
			words:  "the budget is spent for the moment",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			if tt.limits != nil {
				tt.limits(&l)
			}
			w := newWorld(l)
			w.latency, w.answer = tt.latency, tt.answer
			tt.source.ID, tt.source.URL = "a", "https://a.example/"
			w.put(tt.source)
			for _, s := range tt.others {
				w.put(s)
			}
			if tt.robots > 0 {
				w.s.Apply(w.now, sched.RobotsRead{Host: "a.example", Delay: tt.robots})
			}
			if tt.run > 0 {
				w.run(tt.run)
			}
			if tt.ask {
				w.s.Ask("a")
			}
			got, ok := w.s.Hold(w.now, "a")
			if !ok {
				t.Fatal("the source is not known")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("it is held back otherwise (-want +got):\n%s", diff)
			}
			if got.String() != tt.words {
				t.Errorf("it is said that %q, want %q", got.String(), tt.words)
			}
		})
	}
}

// A host that failed is told from one that asked to be left alone.
func TestHoldOfAFailingHost(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: time.Millisecond, Most: time.Hour, Host: time.Hour}
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, "connect" }
	for _, name := range []string{"a", "b", "c"} {
		w.put(freshet.Source{ID: freshet.SourceID(name), URL: "https://a.example/" + name})
	}
	w.run(time.Minute)
	h, _ := w.s.Hold(w.now, "a")
	if h.Kind != sched.HoldHostDown || h.Failures != 3 || h.Until.Sub(w.now) < 30*time.Minute {
		t.Errorf("after three failures running the hold is %v (%s) of %d failures until %v", h, h.Kind, h.Failures, h.Until)
	}
	if _, ok := w.s.Hold(w.now, "z"); ok {
		t.Error("a source that is not there is held back")
	}
}

// To look at what holds sources back changes nothing, and what is said of the
// budget comes true: where nothing holds a source back it is polled at once, and
// where only time does it is polled then.
func TestHoldComesTrue(t *testing.T) {
	for _, budget := range []sched.Budget{{Polls: 3, Per: 10 * time.Second}, {Polls: 2.5, Per: time.Second}, {Polls: 5, Per: time.Minute, Instant: time.Second},
		{Polls: 0.4, Per: time.Second, Instant: time.Second}, {Polls: 4, Per: 9 * time.Second, Instant: 2 * time.Second}} {
		l := generous()
		l.Budget, l.Hosts.Delay = budget, 700*time.Millisecond
		looked, blind := newWorld(l), newWorld(l)
		for _, w := range []*world{looked, blind} {
			w.answer = func(p freshet.Poll, o *freshet.Outcome) { o.Requests = 1 + len(w.polls)%3 }
			w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
		}
		for range 200 {
			h, _ := looked.s.Hold(looked.now, "a")
			before := len(looked.polls)
			switch wait := h.Until.Sub(looked.now); {
			case h.Kind == sched.NoHold:
				looked.run(0)
				if len(looked.polls) == before {
					t.Fatalf("%v: nothing held it back at %v, and it was not polled", budget, looked.now)
				}
			case wait > time.Nanosecond:
				looked.run(wait - time.Nanosecond)
				if len(looked.polls) > before {
					t.Fatalf("%v: it was polled before %v although %v", budget, h.Until, h)
				}
				looked.run(time.Nanosecond)
				if h.Kind == sched.HoldBudget && len(looked.polls) == before {
					t.Fatalf("%v: it was not polled at %v although only %v", budget, h.Until, h)
				}
			default:
				t.Fatalf("%v: held back by %v until %v at %v", budget, h, h.Until, looked.now)
			}
		}
		blind.run(looked.now.Sub(start))
		if diff := cmp.Diff(blind.times("a"), looked.times("a")); diff != "" {
			t.Errorf("%v: looking changed when it was polled (-blind +looked):\n%s", budget, diff)
		}
	}
}

// A robots.txt that cannot be read again does not undo what it asked for.
func TestUnreadRobotsChangesNothing(t *testing.T) {
	l := generous()
	l.Hosts.Delay, l.Hosts.CrawlDelay = time.Second, time.Minute
	w := newWorld(l)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.s.Apply(w.now, sched.RobotsRead{Host: "a.example", Delay: 20 * time.Second})
	w.s.Apply(w.now, sched.RobotsRead{Host: "a.example", Unread: true})
	w.run(time.Second)
	if h, _ := w.s.Hold(w.now, "a"); h.Kind != sched.HoldCrawlDelay || !h.Until.Equal(after(20*time.Second)) {
		t.Errorf("it is held back by %s until %v, want crawl_delay until %v", h.Kind, h.Until, after(20*time.Second))
	}
	w.run(90 * time.Minute)
	if first := slices.IndexFunc(w.polls, func(p freshet.Poll) bool { return p.Robots }); first < 0 || w.polls[first].At.Sub(start) < time.Hour {
		t.Errorf("robots.txt is first read again at poll %d, want after an hour", first)
	}
}
