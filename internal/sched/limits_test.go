package sched_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// What the operator leaves open is 60 polls a minute, 64 at once, 2 of a host.
func TestDefaults(t *testing.T) {
	w := newWorld(sched.Limits{})
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(time.Minute - time.Nanosecond)
	if len(w.polls) != 60 {
		t.Errorf("%d polls in a minute, want 60", len(w.polls))
	}

	w = newWorld(sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Second}})
	w.latency = func(freshet.Poll) time.Duration { return time.Hour }
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i)})
	}
	w.run(time.Minute)
	if len(w.polls) != 64 {
		t.Errorf("%d polls at once, want 64", len(w.polls))
	}

	w = newWorld(sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Second}})
	w.latency = func(freshet.Poll) time.Duration { return time.Hour }
	for i := range 10 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(time.Minute)
	if len(w.polls) != 2 {
		t.Errorf("%d polls of a host at once, want 2", len(w.polls))
	}
}

// A budget that changes counts from the moment of the change, and what was
// spent before it stays spent.
func TestBudgetChanges(t *testing.T) {
	tests := []struct {
		name   string
		budget sched.Budget
		want   []time.Duration // polls of the ten seconds after the change, counted from it
	}{
		{"the same", sched.Budget{Polls: 4, Per: 4 * time.Second}, seconds(0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5)},
		{"less", sched.Budget{Polls: 2, Per: 8 * time.Second}, seconds(6.5, 8)}, // four are spent, and then an instant brings one every 4 s
		{"more", sched.Budget{Polls: 20, Per: 10 * time.Second}, seconds(
			0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 4, Per: 4 * time.Second}
			w := newWorld(l)
			w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
			w.run(3500 * time.Millisecond) // polled at 0, 1, 2 and 3 s
			l.Budget = tt.budget
			w.s.SetLimits(w.now, l)
			w.run(10 * time.Second)
			var got []time.Duration
			for _, p := range w.polls[4:] {
				got = append(got, p.At.Sub(start.Add(3500*time.Millisecond)))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("after the change polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// Limits that change before the first poll are those of the first poll.
func TestLimitsBeforeTheFirstPoll(t *testing.T) {
	l := generous()
	w := newWorld(l)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	l.Budget = sched.Budget{Polls: 1, Per: 5 * time.Second}
	w.s.SetLimits(w.now, l)
	if used, most := w.s.Spent(w.now); used != 0 || most != 1 {
		t.Errorf("%d of %d requests are spent before the first, want none of 1", used, most)
	}
	w.run(12 * time.Second)
	if got := w.times("a"); !slices.Equal(got, seconds(0, 5, 10)) {
		t.Errorf("polled at %v, want every 5 s", got)
	}
}

// What is spent counts from before a request leaves until a whole stretch after
// its answer is in, whether or not the scheduler is asked for polls meanwhile.
func TestSpent(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 5, Per: 10 * time.Second}
	s := sched.New(&policy.Uniform{}, l)
	s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}})
	spent := func(at time.Duration, want int) {
		t.Helper()
		if used, most := s.Spent(start.Add(at)); used != want || most != 5 {
			t.Errorf("after %v %d of %d requests are spent, want %d of 5", at, used, most, want)
		}
	}
	spent(0, 0)
	if _, _, ok := s.Next(start); !ok {
		t.Fatal("there is no poll")
	}
	spent(0, 1) // one is set aside
	spent(time.Hour, 1)
	ended := start.Add(2 * time.Hour)
	s.Observe(ended, freshet.Outcome{Source: "a", Began: start, Ended: ended, Requests: 2})
	spent(2*time.Hour, 2) // it took two
	spent(2*time.Hour+10*time.Second-1, 2)
	spent(2*time.Hour+10*time.Second, 0)
}

// A budget that is no whole number comes to its rate, and none of its stretches
// holds more than its ceiling.
func TestFractionalBudget(t *testing.T) {
	tests := []struct {
		budget sched.Budget
		want   []time.Duration // polls of the first seven seconds
	}{
		{sched.Budget{Polls: 0.5, Per: time.Second}, seconds(0, 2, 4, 6)},
		{sched.Budget{Polls: 2.5, Per: time.Second, Instant: time.Second}, seconds(0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 7)},
		{sched.Budget{Polls: 1, Per: time.Second, Instant: 3 * time.Second}, seconds(0, 1, 2, 3, 4, 5, 6, 7)}, // an instant brings three, and the ceiling keeps them apart
	}
	for _, tt := range tests {
		l := generous()
		l.Budget = tt.budget
		w := &world{s: sched.New(&policy.Uniform{}, l), now: start}
		for i := range 30 {
			w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
		}
		w.run(7 * time.Second)
		var got []time.Duration
		for _, p := range w.polls {
			got = append(got, p.At.Sub(start))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("a budget of %+v polls at %v, want %v", tt.budget, got, tt.want)
		}
	}
}

// What an idle time leaves over is lost, but for one instant's worth.
func TestIdleTimeIsNotSavedUp(t *testing.T) {
	for _, tt := range []struct {
		polls float64
		want  int // polls at once, after half a minute of nothing
	}{{60, 1}, {61, 2}, {150, 5}} {
		l := generous()
		l.Budget = sched.Budget{Polls: tt.polls, Per: time.Minute, Instant: time.Second}
		w := newWorld(l)
		w.run(time.Second)
		w.run(30 * time.Second)
		for i := range 100 {
			w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
		}
		w.run(0)
		if len(w.polls) != tt.want {
			t.Errorf("a budget of %v polls %d times at once after a time of nothing, want %d", l.Budget, len(w.polls), tt.want)
		}
	}
}

// A source that takes more requests than the whole budget has is polled when
// nothing else is counted.
func TestSourceThatTakesMoreThanTheBudget(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 2, Per: 10 * time.Second}
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Requests = 5 }
	w.s.Put(w.now, freshet.SourceWithStatus{
		Source: freshet.Source{ID: "a", URL: "https://a.example/"},
		Status: freshet.Status{Requests: 5},
	})
	w.run(100 * time.Second)
	if got, want := w.times("a"), seconds(0, 25, 50, 75, 100); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v: five requests are the budget of 25 s", got, want)
	}
}

// What was begun before a restart counts whatever order it is told in, with all
// its requests, and its sources' own bounds count from it.
func TestResumeCounts(t *testing.T) {
	tests := []struct {
		name     string
		attempts []freshet.Attempt // their sources are not known, but for a
		want     time.Duration     // of the first poll
	}{
		{"nothing", nil, 0},
		{"ends out of order", []freshet.Attempt{ended("x", -1, 1), ended("x", -9, 1), ended("x", -8, 2)}, time.Second},
		{"three requests of one poll", []freshet.Attempt{ended("x", -5, 3)}, 0},
		{"four requests of one poll", []freshet.Attempt{ended("x", -5, 4)}, 5 * time.Second},
		{"four requests of which one is long past", []freshet.Attempt{ended("x", -10, 1), ended("x", -5, 3)}, 0},
		{"a poll of the source itself", []freshet.Attempt{ended("a", -2, 1)}, 18 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 4, Per: 10 * time.Second, Instant: 10 * time.Second}
			w := newWorld(l)
			w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: 20 * time.Second})
			w.s.Resume(w.now, tt.attempts)
			w.run(time.Minute)
			if got := w.times("a")[0]; got != tt.want {
				t.Errorf("first polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// ended returns an attempt that ended so many seconds from the start.
func ended(id freshet.SourceID, at, requests int) freshet.Attempt {
	moment := start.Add(time.Duration(at) * time.Second)
	return freshet.Attempt{Source: id, Began: moment, Ended: moment, Requests: requests}
}

func TestBudgetPerSecond(t *testing.T) {
	b, err := sched.ParseBudget("90/m")
	if err != nil || b.PerSecond() != 1.5 {
		t.Errorf("90/m is %g polls a second (%v), want 1.5", b.PerSecond(), err)
	}
}

// Limits that are told again change nothing of when hosts and sources open, and workers come at once.
func TestSetLimitsAgain(t *testing.T) {
	limits := func(workers int) sched.Limits {
		l := generous()
		l.Hosts.Delay, l.SourceGap, l.Workers = 3*time.Second, 7*time.Second, workers
		return l
	}
	polled := func(workers int, again ...sched.Limits) []freshet.Poll {
		w := newWorld(limits(workers))
		w.latency = func(freshet.Poll) time.Duration { return 2 * time.Second }
		for i := range 6 {
			w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://%c.example/%d", 'a'+i%3, i)})
		}
		for _, l := range again {
			w.run(5 * time.Second)
			w.s.SetLimits(w.now, l)
		}
		w.run(time.Minute - time.Duration(len(again))*5*time.Second)
		return w.polls
	}
	if got, want := polled(2, limits(2), limits(2), limits(2)), polled(2); !reflect.DeepEqual(got, want) {
		t.Errorf("told the same limits again there are %d polls, and otherwise %d, or others", len(got), len(want))
	}
	if got, few, many := polled(1, limits(3)), polled(1), polled(3); len(got) <= len(few) || len(got) > len(many) {
		t.Errorf("with two workers more after 5 s there are %d polls, with one from the start %d, with three %d", len(got), len(few), len(many))
	}
}
