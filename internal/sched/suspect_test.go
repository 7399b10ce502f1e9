package sched_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// shy is a policy that wants nothing.
type shy struct{}

func (shy) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}
func (shy) Remove(freshet.Slot)                                    {}
func (shy) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time {
	return time.Time{}
}
func (shy) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// doubtful returns a world in which a source is polled because somebody asks, and then
// only because what came is suspect so many times.
func doubtful(l sched.Limits, s freshet.Source, times int) *world {
	l.Hints = time.Hour
	w := &world{s: sched.New(shy{}, l), now: start}
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
		if times--; times >= 0 {
			o.Result, o.LookAgain = freshet.Doubted, 50*time.Second
		}
	}
	s.ID, s.URL = "a", "https://a.example/"
	w.s.Put(w.now, freshet.SourceWithStatus{Source: s, Status: freshet.Status{Seen: start.Add(-time.Minute), Begun: start.Add(-time.Minute), Fresh: start.Add(time.Hour)}})
	w.s.Ask("a")
	return w
}

// A suspect capture has its second look when it wants one, whatever the policy and a
// hint say, and no sooner than the gaps allow.
func TestSecondLook(t *testing.T) {
	tests := []struct {
		name   string
		source freshet.Source
		gap    time.Duration // of all sources
		times  int
		want   []time.Duration
	}{
		{"nothing is suspect", freshet.Source{}, 0, 0, seconds(0)},
		{"in time", freshet.Source{}, 0, 1, seconds(0, 50)},
		{"again and again", freshet.Source{}, 0, 3, seconds(0, 50, 100, 150)},
		{"not before its own gap", freshet.Source{MinGap: 55 * time.Second}, 0, 2, seconds(0, 55, 110)},
		{"nor before that of all", freshet.Source{}, 70 * time.Second, 2, seconds(0, 70, 140)},
		{"paused", freshet.Source{Paused: true}, 0, 1, seconds(0)},
		{"by its bound", freshet.Source{MaxGap: 40 * time.Second}, 0, 1, seconds(0, 40, 80, 120, 160, 200, 240, 280)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget, l.SourceGap = sched.Budget{Polls: 600, Per: time.Minute}, tt.gap
			w := doubtful(l, tt.source, tt.times)
			w.run(300 * time.Second)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
			for _, p := range w.polls[1:] {
				if tt.source.MaxGap == 0 && (p.Cause != freshet.ByDoubt || !p.Since.Equal(start.Add(-time.Minute))) {
					t.Errorf("the next look is made by %s, and the page was last seen at %v", p.Cause, p.Since)
				}
			}
		})
	}
}

// A second look that was wanted before a restart is made after it.
func TestSecondLookAfterARestart(t *testing.T) {
	w := &world{s: sched.New(shy{}, generous()), now: start}
	w.s.Put(w.now, freshet.SourceWithStatus{Source: freshet.Source{ID: "a", URL: "https://a.example/"}, Status: freshet.Status{
		Seen: start.Add(-time.Minute), Begun: start.Add(-time.Minute), Held: freshet.Held{Number: 2, Again: start.Add(30 * time.Second)},
	}})
	if h, ok := w.s.Hold(w.now, "a"); !ok || !h.Again.Equal(start.Add(30*time.Second)) {
		t.Errorf("the hold is %+v", h)
	}
	w.run(time.Minute)
	if got, want := w.times("a"), seconds(30); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// A failed second look is made again when the back-off is over.
func TestSecondLookFails(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: 20 * time.Second, Most: 20 * time.Second}
	w := doubtful(l, freshet.Source{}, 0)
	asks := 0
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
		switch asks++; asks {
		case 1:
			o.Result, o.LookAgain = freshet.Doubted, 10*time.Second
		case 2:
			o.Result, o.Failure = freshet.Failed, failure.DNS
		}
	}
	w.run(time.Minute)
	if got := w.times("a"); len(got) != 3 || got[1] != 10*time.Second || got[2] < 20*time.Second {
		t.Errorf("polled at %v, want a third time after the back-off", got)
	}
}
