package lab_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet"
	"freshet/lab"
	"freshet/policy"
	"freshet/sched"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// An hourOfChanges is what some pages do in an hour.
type hourOfChanges map[freshet.SourceID][]time.Time

// grid cuts the hour into minutes.
func (h hourOfChanges) grid(t interface{ Fatal(...any) }) *lab.Grid {
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, changes := range h {
			for _, at := range changes {
				if !yield(id, at) {
					return
				}
			}
		}
	}, h.pages()...)
	g, err := history.Quantise(lab.Period{Start: start, End: start.Add(time.Hour), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (h hourOfChanges) pages() (ids []freshet.SourceID) {
	for id := range h {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// drawHour returns some pages with changes at random.
func drawHour(t *rapid.T) hourOfChanges {
	h := hourOfChanges{}
	for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
		id := freshet.SourceID(fmt.Sprint("s", i))
		h[id] = nil
		at := start
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			at = at.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "gap")) * time.Second)
			h[id] = append(h[id], at)
		}
	}
	return h
}

// What polls find in continuous time agrees with what one finds by looking at
// every change on its own: a poll finds the source changed if a change lies
// between it and the poll before that saw the source.
func TestPollsFindTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour := drawHour(t)
		polls := 0
		seen := map[freshet.SourceID]time.Time{}
		o := lab.Options{
			Budget: float64(rapid.IntRange(1, 10).Draw(t, "polls")), Unseen: true,
			Conditions: lab.Conditions{
				Continuous: true,
				Latency:    time.Duration(rapid.IntRange(0, 3000).Draw(t, "latency")) * time.Millisecond,
				Limits:     &sched.Limits{Backoff: sched.Backoff{Start: time.Second, Most: time.Second, Host: time.Second}},
			},
			Answer: func(_ freshet.Poll, o *freshet.Outcome) {
				if polls++; polls%5 == 4 {
					o.Result, o.Failure = freshet.Failed, freshet.FailConnect
				}
			},
			Observe: func(o freshet.Outcome) {
				if o.Result == freshet.Failed {
					return
				}
				want := freshet.Unchanged
				if seen[o.Source].IsZero() {
					want = freshet.First
				}
				for _, at := range hour[o.Source] {
					if want != freshet.First && at.After(seen[o.Source]) && !at.After(o.Began) {
						want = freshet.Changed
					}
				}
				if o.Result != want {
					t.Errorf("the poll of %s at %v found it %s, want %s", o.Source, o.Began.Sub(start), o.Result, want)
				}
				seen[o.Source] = o.Began
			},
		}
		score, err := lab.Replay(t.Context(), hour.grid(t), &policy.RoundRobin{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if polls < 50 || score.Polls != polls {
			t.Errorf("%d polls in an hour at one a minute or more, and %d in the score", polls, score.Polls)
		}
	})
}
