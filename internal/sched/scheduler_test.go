package sched_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// generous limits let only the one under test bind.
func generous() sched.Limits {
	return sched.Limits{
		Budget:  sched.Budget{Polls: 10, Per: time.Second},
		Workers: 1000,
		Hosts:   sched.Politeness{Concurrency: 1000},
	}
}

func seconds(ns ...float64) (ds []time.Duration) {
	for _, n := range ns {
		ds = append(ds, time.Duration(n*float64(time.Second)))
	}
	return ds
}

func TestBounds(t *testing.T) {
	tests := []struct {
		name   string
		limits func(*sched.Limits)
		source freshet.Source
		answer func(freshet.Poll, *freshet.Outcome)
		want   []time.Duration // polls of the first ten seconds
	}{
		{
			name:   "the budget alone",
			limits: func(l *sched.Limits) { l.Budget = sched.Budget{Polls: 1, Per: 3 * time.Second} },
			want:   seconds(0, 3, 6, 9),
		},
		{
			name:   "never sooner than MinGap",
			source: freshet.Source{MinGap: 4 * time.Second},
			want:   seconds(0, 4, 8),
		},
		{
			name:   "a host's delay",
			limits: func(l *sched.Limits) { l.Hosts.Delay = 2500 * time.Millisecond },
			want:   seconds(0, 2.5, 5, 7.5, 10),
		},
		{
			name:   "a paused source",
			source: freshet.Source{Paused: true},
		},
		{
			name: "a host that asks us to stay away",
			answer: func(p freshet.Poll, o *freshet.Outcome) {
				o.Result, o.Failure, o.NotBefore = freshet.Failed, "retry_after", p.At.Add(7*time.Second)
			},
			limits: func(l *sched.Limits) { l.Backoff.Start = time.Millisecond },
			want:   seconds(0, 7),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 2, Per: time.Second}
			if tt.limits != nil {
				tt.limits(&l)
			}
			w := newWorld(l)
			w.answer = tt.answer
			tt.source.ID, tt.source.URL = "a", "https://a.example/"
			w.put(tt.source)
			w.run(10 * time.Second)
			got := w.times("a")
			for i := range got {
				got[i] = got[i].Round(time.Millisecond)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// Back-off doubles with each failure, give or take a fifth, and is the same in
// every run.
func TestBackoff(t *testing.T) {
	fail := func() []time.Duration {
		l := generous()
		l.Backoff = sched.Backoff{Start: 10 * time.Second, Most: 60 * time.Second}
		w := newWorld(l)
		w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, "http.404" }
		w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
		w.run(10 * time.Minute)
		return w.times("a")
	}
	at := fail()
	for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 60 * time.Second, 60 * time.Second} {
		if gap := at[i+1] - at[i]; gap < want*8/10 || gap > want*12/10+100*time.Millisecond {
			t.Errorf("%v after failure %d, want %v give or take a fifth", gap, i+1, want)
		}
	}
	if first, second := at[1]-at[0], at[2]-at[1]; (second - 2*first).Abs() <= 200*time.Millisecond {
		t.Errorf("the first two waits, %v and %v, are spread alike, want each by itself", first, second)
	}
	if again := fail(); !slices.Equal(at, again) {
		t.Errorf("another run gives %v, want %v", again, at)
	}
}

func TestAtLeastEveryMaxGap(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 1, Per: time.Second}
	w := newWorld(l)
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.put(freshet.Source{ID: "zz", URL: "https://b.example/", MaxGap: 5 * time.Second})
	w.run(200 * time.Second)
	at := w.times("zz")
	if want := 1 + int((200*time.Second-at[0])/(5*time.Second)); len(at) != want {
		t.Fatalf("a source that is to be polled every 5 s was polled %d times from %v to 200 s, want %d", len(at), at[0], want)
	}
	for i := 1; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap != 5*time.Second {
			t.Errorf("a gap of %v, want 5 s: every second there is an instant", gap)
		}
	}
}

func TestAskGoesFirst(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 1, Per: time.Second}
	w := newWorld(l)
	for i := range 50 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/", Paused: i == 40})
	}
	w.run(2 * time.Second)
	w.s.Ask(id(40))
	w.run(time.Second)
	last := w.polls[len(w.polls)-1]
	if last.Source.ID != id(40) || last.Cause != freshet.ByHand {
		t.Errorf("the next poll was of %s by %s, want the paused source that was asked for", last.Source.ID, last.Cause)
	}
	w.run(100 * time.Second)
	if n := len(w.times(id(40))); n != 1 {
		t.Errorf("polled %d times, want once: it was asked for once", n)
	}
}

func TestFailingHostIsLeftAlone(t *testing.T) {
	l := generous()
	l.Backoff.Host = 20 * time.Second
	w := newWorld(l)
	w.answer = func(p freshet.Poll, o *freshet.Outcome) {
		if p.Source.Host() == "down.example" {
			o.Result, o.Failure = freshet.Failed, "connect"
		}
	}
	for i := range 20 {
		w.put(freshet.Source{ID: id(i), URL: "https://down.example/"})
	}
	w.put(freshet.Source{ID: "up", URL: "https://up.example/"})
	w.run(10 * time.Second)
	down := len(w.polls) - len(w.times("up"))
	if down != 3 {
		t.Errorf("%d polls of a host that is down, want 3 before it is left alone", down)
	}
	if n := len(w.times("up")); n != 101-down {
		t.Errorf("%d polls of the host that is up, want the other %d of the budget", n, 101-down)
	}
}

func TestOnePollOfASourceAtATime(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return 3 * time.Second }
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(time.Second)
	w.s.Remove("a")
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.s.Ask("a")
	w.run(time.Second)
	if len(w.polls) != 1 {
		t.Errorf("%d polls begun, want 1 while the first is under way, removed and put again or not", len(w.polls))
	}
	w.run(time.Second)
	if len(w.polls) != 2 {
		t.Errorf("%d polls begun, want a second one when the first has ended", len(w.polls))
	}
}

func TestRemove(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return 50 * time.Millisecond }
	for i := range 10 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(time.Second)
	for i := range 9 {
		w.s.Remove(id(i))
	}
	before := len(w.polls)
	w.run(time.Second)
	for _, p := range w.polls[before:] {
		if p.Source.ID != id(9) {
			t.Fatalf("%s was polled after it was removed", p.Source.ID)
		}
	}
	if len(w.polls) == before {
		t.Error("the source that is left is not polled any more")
	}
}

// What was begun before a restart counts against the budget and the host.
func TestResume(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 10, Per: 10 * time.Second}
	l.Hosts.Delay = 3 * time.Second
	w := newWorld(l)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.put(freshet.Source{ID: "b", URL: "https://b.example/"})
	var attempts []freshet.Attempt
	for range 8 {
		attempts = append(attempts, freshet.Attempt{Source: "b", Began: start.Add(-6 * time.Second), Ended: start.Add(-5 * time.Second), Requests: 1})
	}
	attempts = append(attempts, freshet.Attempt{Source: "a", Began: start.Add(-time.Second)}) // ended by the crash
	w.s.Resume(start, attempts)
	w.run(4 * time.Second)
	if at := w.times("a"); len(at) != 0 {
		t.Errorf("a polled at %v, want not at all: b took the one request that was left", at)
	}
	if at := w.times("b"); len(at) != 1 || at[0] != 0 {
		t.Errorf("b polled at %v, want once, at once", at)
	}
	w.run(4 * time.Second)
	if at := w.times("a"); len(at) == 0 || at[0] != 5*time.Second {
		t.Errorf("a polled at %v, want after 5 s, when the requests of before are forgotten", at)
	}
}

func TestResumeAcrossAClockSetBack(t *testing.T) {
	w := newWorld(generous())
	w.s.Put(start, freshet.SourceWithStatus{
		Source: freshet.Source{ID: "a", URL: "https://a.example/"},
		Status: freshet.Status{Begun: start.Add(time.Hour), Seen: start.Add(time.Hour), Failures: 3, NotBefore: start.Add(1e6 * time.Hour)},
	})
	w.s.Resume(start, []freshet.Attempt{{Source: "a", Began: start.Add(time.Hour), Ended: start.Add(time.Hour), Requests: 1}})
	w.run(25 * time.Hour)
	if at := w.times("a"); len(at) == 0 || at[0] != 24*time.Hour {
		t.Errorf("polled at %v, want after a day although the store speaks of the future", at[:min(len(at), 3)])
	}
}

func TestSetLimits(t *testing.T) {
	w := newWorld(generous())
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(10 * time.Second)
	before := len(w.polls)
	l := generous()
	l.Budget = sched.Budget{Polls: 2, Per: 10 * time.Second}
	w.s.SetLimits(w.now, l)
	w.run(25 * time.Second)
	// The last ten polls before the cut were made from 9.1 to 10 s.
	if got, want := w.times("a")[before:], seconds(19.9, 20, 29.9, 30); !slices.Equal(got, want) {
		t.Errorf("polled at %v after the budget was cut to 2 in 10 s, want %v", got, want)
	}
}

// A longer delay of hosts is waited for, and no longer.
func TestSetDelay(t *testing.T) {
	l := generous()
	w := newWorld(l)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(time.Second)
	last := w.polls[len(w.polls)-1].At
	l.Hosts.Delay = 3 * time.Second
	w.s.SetLimits(w.now, l)
	before := len(w.polls)
	w.run(10 * time.Second)
	if len(w.polls) == before || w.polls[before].At.Sub(last) != 3*time.Second {
		t.Errorf("%d polls after the delay was raised to 3 s, the first not 3 s after the last before", len(w.polls)-before)
	}
}

// While a poll of a host is under way it is not known when its request leaves,
// so another one may not follow it.
func TestDelayedHostIsPolledByOne(t *testing.T) {
	l := generous()
	l.Hosts.Delay = time.Second
	w := newWorld(l)
	w.latency = func(freshet.Poll) time.Duration { return 5 * time.Second }
	for i := range 5 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(20 * time.Second)
	var at []time.Duration
	for _, p := range w.polls {
		at = append(at, p.At.Sub(start))
	}
	if want := seconds(0, 6, 12, 18); !slices.Equal(at, want) {
		t.Errorf("a host that is owed 1 s was polled at %v by polls that take 5 s, want %v", at, want)
	}
}

// A source that is known to take three requests waits until three fit below the
// ceiling.
func TestRedirectsFitBelowTheCeiling(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 4, Per: 10 * time.Second}
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 3 }
	for i := range 3 {
		w.s.Put(w.now, freshet.SourceWithStatus{
			Source: freshet.Source{ID: id(i), URL: "https://a.example/"},
			Status: freshet.Status{Requests: 3},
		})
	}
	w.run(2 * time.Minute)
	for i, p := range w.polls {
		if want := time.Duration(i) * 10 * time.Second; p.At.Sub(start) != want {
			t.Errorf("poll %d of three requests was made at %v, want %v: four requests may be made in 10 s", i+1, p.At.Sub(start), want)
		}
	}
	if len(w.polls) != 13 {
		t.Errorf("%d polls in two minutes, want 13", len(w.polls))
	}
}

// A policy is asked only when something can be polled: being refused everything
// would cost it a pass over all sources, and its order.
func TestFullCeilingAsksNobody(t *testing.T) {
	spy := &spy{Policy: &policy.Uniform{}}
	s := sched.New(spy, sched.Limits{Budget: sched.Budget{Polls: 2, Per: time.Minute, Instant: time.Second}})
	s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}})
	s.Resume(start, []freshet.Attempt{{Source: "x", Began: start, Ended: start}, {Source: "y", Began: start, Ended: start}})
	for at := range 59 {
		if _, _, ok := s.Next(start.Add(time.Duration(at) * time.Second)); ok {
			t.Fatalf("a poll after %d s, on top of a budget that is spent for a minute", at)
		}
	}
	if spy.asked > 0 {
		t.Errorf("the policy was asked %d times for what it could not have", spy.asked)
	}
	if _, _, ok := s.Next(start.Add(time.Minute)); !ok || spy.asked != 1 {
		t.Errorf("after a minute the policy was asked %d times and there is a poll: %v, want once and one", spy.asked, ok)
	}
}

// A spy counts how often a policy is asked.
type spy struct {
	freshet.Policy
	asked int
}

func (s *spy) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	s.asked++
	return s.Policy.Choose(now, n, take)
}

// A host is left alone only after failures running: whatever it answers in
// between starts the count again.
func TestHostThatAnswersNowAndThen(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: time.Nanosecond, Host: time.Hour}
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
		if len(w.polls)%3 != 0 {
			o.Result, o.Failure = freshet.Failed, failure.Connect
		}
	}
	for i := range 20 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(10*time.Second - time.Nanosecond)
	if len(w.polls) != 100 {
		t.Errorf("%d polls in 10 s of a host that answers every third time, want all 100 of the budget", len(w.polls))
	}
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, failure.Connect }
	w.run(10 * time.Second)
	if n := len(w.polls) - 100; n != 2 {
		t.Errorf("%d more polls when it answers no more, want 2: the last before failed too", n)
	}
}

// The instants pay for redirects, long before the stretch of the budget is
// spent: a poll costs what it took, and not what was set aside for it.
func TestInstantsPayForRedirects(t *testing.T) {
	tests := []struct {
		name  string
		knows int   // requests that the source is known to take
		takes []int // requests that its polls take
		want  []time.Duration
	}{
		{"one each", 1, []int{1, 1, 1, 1}, seconds(0, 1, 2, 3)},
		{"redirects that nobody expected", 1, []int{3, 3, 3, 3}, seconds(0, 3, 6, 9)},
		{"redirects that were expected", 3, []int{3, 3, 3, 3}, seconds(0, 3, 6, 9)},
		{"redirects that are there no more", 3, []int{1, 1, 1, 1}, seconds(0, 1, 2, 3)},
		{"now more, now less", 1, []int{1, 4, 1, 2}, seconds(0, 1, 5, 6)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
			w := newWorld(l)
			w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = tt.takes[min(len(w.polls), len(tt.takes))-1] }
			w.s.Put(w.now, freshet.SourceWithStatus{
				Source: freshet.Source{ID: "a", URL: "https://a.example/"},
				Status: freshet.Status{Requests: tt.knows},
			})
			w.run(20 * time.Second)
			if got := w.times("a"); !slices.Equal(got[:4], tt.want) {
				t.Errorf("polled at %v, want %v", got[:4], tt.want)
			}
		})
	}
}

// A redirect is a request. A source that takes three is charged three.
func TestRedirectsAreCharged(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 6, Per: 6 * time.Second}
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 3 }
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(60 * time.Second)
	if n := len(w.polls); n != 21 {
		t.Errorf("%d polls of three requests each from 0 to 60 s at one request a second, want 21", n)
	}
}
