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

// A pupil writes down what it is told.
type pupil struct {
	policy.Uniform
	since  []time.Time
	told   []freshet.Cursor
	gone   []freshet.Slot
	before *pupil // who must have been told already
	t      *testing.T
}

func (p *pupil) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	p.since = append(p.since, since)
	p.Uniform.Put(now, slot, s, since)
}

func (p *pupil) Remove(slot freshet.Slot) {
	p.gone = append(p.gone, slot)
	p.Uniform.Remove(slot)
}

func (p *pupil) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	p.told = append(p.told, o.Cursor)
	if p.before != nil && len(p.before.told) < len(p.told) {
		p.t.Errorf("outcome %d was told to the policy first", o.Cursor)
	}
	p.Uniform.Observe(now, slot, o)
}

// Who learns beside the policy is told the same, first.
func TestLearnersBeside(t *testing.T) {
	beside := &pupil{t: t}
	p := &pupil{t: t, before: beside}
	w := &world{s: sched.New(p, generous(), beside), now: start}
	w.s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}, Status: freshet.Status{Seen: start.Add(-time.Hour)}})
	w.put(freshet.Source{ID: "b", URL: "https://b.example/"})
	w.run(3 * time.Second)
	w.s.Remove("b")
	if len(p.told) == 0 || !slices.Equal(p.told, beside.told) {
		t.Errorf("the policy was told of %d outcomes, the learner of %d", len(p.told), len(beside.told))
	}
	if want := []time.Time{start.Add(-time.Hour), {}}; !slices.Equal(p.since, want) || !slices.Equal(beside.since, want) {
		t.Errorf("the policy was told that sources were last seen at %v, the learner at %v, want %v", p.since, beside.since, want)
	}
	if want := []freshet.Slot{1}; !slices.Equal(p.gone, want) || !slices.Equal(beside.gone, want) {
		t.Errorf("the policy was told to forget %v, the learner %v, want %v", p.gone, beside.gone, want)
	}
}

// Outcomes on record teach, but do not count again what a standing rests on.
func TestOutcomesOnRecord(t *testing.T) {
	seen := freshet.Outcome{Cursor: 7, Source: "a", Since: start.Add(-5 * time.Hour), Began: start.Add(-3 * time.Hour)}
	down := freshet.Outcome{Cursor: 8, Source: "a", Since: start.Add(-3 * time.Hour), Began: start.Add(-2 * time.Hour), Result: freshet.Failed, Failure: failure.DNS}
	again := down
	again.Cursor, again.Began = 9, start.Add(-time.Second)
	tests := []struct {
		name     string
		standing freshet.Status
		outcomes []freshet.Outcome
		failures int // in the hold
	}{
		{"the standing rests on all of them", freshet.Status{Upto: 9, Failures: 5, Failure: failure.DNS, Begun: start.Add(-time.Second)}, []freshet.Outcome{seen, down, again}, 5},
		{"the standing rests on all of them, which saw nothing", freshet.Status{Upto: 9, Failures: 5, Failure: failure.DNS, Begun: start.Add(-time.Second)}, []freshet.Outcome{down, again}, 5},
		{"the standing rests on none", freshet.Status{}, []freshet.Outcome{seen, down, again}, 2},
		{"the standing rests on the first", freshet.Status{Upto: 7, Seen: start.Add(-3 * time.Hour)}, []freshet.Outcome{seen, down, again}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &pupil{t: t}
			w := &world{s: sched.New(p, generous()), now: start}
			w.s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}, Status: tt.standing})
			for _, o := range tt.outcomes {
				o.Ended = o.Began
				w.s.Observe(o.Ended, o)
			}
			if len(p.told) != len(tt.outcomes) {
				t.Errorf("the policy was told of outcomes %v, want all %d", p.told, len(tt.outcomes))
			}
			if h, _ := w.s.Hold(start, "a"); h.Kind != sched.HoldBackoff || h.Failures != tt.failures {
				t.Errorf("the source is held back by %q (%d), want by %d failures", h, h.Failures, tt.failures)
			}
			w.run(time.Hour)
			if len(w.polls) == 0 || !w.polls[0].Since.Equal(seen.Began) {
				t.Errorf("the next polls are %v, want one that says when the source was last seen", w.polls)
			}
		})
	}
}

// A poll that leaves no record is over, has been paid for, and teaches nothing.
func TestAbandon(t *testing.T) {
	p := &pupil{t: t}
	w := &world{s: sched.New(p, sched.Limits{Budget: sched.Budget{Polls: 3, Per: time.Minute}, Workers: 1}), now: start}
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	if _, _, ok := w.s.Next(start); !ok {
		t.Fatal("there is no poll")
	}
	w.s.Remove("a")
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Name: "anew"})
	if h, _ := w.s.Hold(start, "a"); h.Kind != sched.HoldUnderWay {
		t.Errorf("held back by %q, want by the poll under way", h)
	}
	w.s.Apply(start.Add(time.Second), sched.PollAbandoned{Source: "a"})
	if h, _ := w.s.Hold(start.Add(2*time.Second), "a"); h.Kind == sched.HoldUnderWay || h.Kind == sched.HoldWorkers {
		t.Errorf("held back by %q, although the poll is over", h)
	}
	if used, _ := w.s.Spent(start.Add(2 * time.Second)); used != 1 {
		t.Errorf("%d requests are spent, want the one of the poll", used)
	}
	w.s.Apply(start.Add(3*time.Second), sched.PollAbandoned{Source: "a"}) // nothing is under way
	w.s.Apply(start.Add(3*time.Second), sched.PollAbandoned{Source: "none"})
	if used, _ := w.s.Spent(start.Add(4 * time.Second)); used != 1 || len(p.told) != 0 {
		t.Errorf("%d requests are spent and %d outcomes told, want 1 and none", used, len(p.told))
	}
	w.now = start.Add(4 * time.Second)
	w.run(2 * time.Minute)
	if len(w.polls) == 0 || w.polls[0].Source.Name != "anew" || !w.polls[0].Since.IsZero() {
		t.Errorf("the next polls are %v, want polls of the source as it came back, never seen", w.polls)
	}
}

// A source that comes back while a poll of it is under way begins with the
// standing that it comes with.
func TestComesBackWhileUnderWay(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return 10 * time.Second }
	w.s.Put(start, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}, Status: freshet.Status{Seen: start.Add(-time.Hour)}})
	w.run(time.Second)
	w.s.Remove("a")
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.answer = nil
	w.ends[0].Result, w.ends[0].Failure = freshet.Failed, failure.DNS
	w.run(5 * time.Minute)
	if len(w.polls) < 2 || !w.polls[1].Since.IsZero() {
		t.Fatalf("the polls are %v, want a second one that has never seen the source", w.polls)
	}
}

// A counting policy counts how often it is asked, and takes nothing.
type counting struct {
	policy.Uniform
	asked int
}

func (c *counting) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	c.asked++
	return c.Uniform.Choose(now, n, take)
}

// Where instants are as fine as they get, the policy is asked once a beat,
// however much happens; elsewhere at every event.
func TestBeats(t *testing.T) {
	tests := []struct {
		name   string
		budget sched.Budget
		want   [2]int // asked, at least and at most
	}{
		{"fine", sched.Budget{Polls: 1000, Per: time.Second}, [2]int{10, 81}},
		{"coarse", sched.Budget{Polls: 1000, Per: time.Second, Instant: time.Second}, [2]int{400, 1 << 30}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &counting{}
			w := &world{s: sched.New(p, sched.Limits{Budget: tt.budget, Workers: 1000}), now: start}
			polls := 0
			w.latency = func(freshet.Poll) time.Duration {
				polls++
				return time.Duration(polls%389+1) * time.Millisecond
			}
			for i := range 300 { // fewer than the budget could pay for
				w.put(freshet.Source{ID: id(i), URL: "https://" + string(id(i)) + ".example/", MinGap: 400 * time.Millisecond})
			}
			w.run(time.Second)
			p.asked, w.polls = 0, nil
			w.run(time.Second)
			if p.asked < tt.want[0] || p.asked > tt.want[1] {
				t.Errorf("the policy was asked %d times in a second with %d polls, want %d to %d", p.asked, len(w.polls), tt.want[0], tt.want[1])
			}
			if len(w.polls) < 400 {
				t.Errorf("%d polls in a second", len(w.polls))
			}
		})
	}
}

// With nothing to do, nobody is woken.
func TestBeatsLeaveTheIdleAlone(t *testing.T) {
	w := newWorld(sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Second}})
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: time.Hour})
	w.run(time.Minute)
	if _, wake, ok := w.s.Next(w.now); ok || wake.Sub(start) < 59*time.Minute {
		t.Errorf("woken again at %v, want when the source may be polled again", wake.Sub(start))
	}
}

// What may be polled when a poll ends is polled in the next beat.
func TestNextBeat(t *testing.T) {
	w := newWorld(sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Second}, Hosts: sched.Politeness{Concurrency: 2}})
	w.latency = func(freshet.Poll) time.Duration { return time.Millisecond }
	for i := range 3 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/", MinGap: time.Hour})
	}
	w.run(time.Minute)
	if got, want := w.times(id(2)), []time.Duration{12500 * time.Microsecond}; !slices.Equal(got, want) {
		t.Errorf("the third source of a host was polled at %v, want %v", got, want)
	}
}

// Few workers that are soon free again are not held up by the beat.
func TestBusyWorkersDoNotWaitForTheBeat(t *testing.T) {
	w := newWorld(sched.Limits{Budget: sched.Budget{Polls: 10_000, Per: time.Second}, Workers: 16})
	w.latency = func(freshet.Poll) time.Duration { return time.Millisecond }
	for i := range 2000 {
		w.put(freshet.Source{ID: id(i), URL: "https://" + string(id(i)) + ".example/"})
	}
	w.run(500 * time.Millisecond)
	if n := len(w.polls); n < 4500 {
		t.Errorf("%d polls in half a second, want about those that the budget allows", n)
	}
}
