package lab_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet"
	"freshet/lab"
	"freshet/policy"
	"freshet/sched"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// What a world says of its polls agrees with what one finds by looking at every
// change on its own: a poll finds the source changed if a change lies between
// it and the poll before that saw the source.
func TestWorldTellsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := &lab.Trace{Start: start, End: start.Add(time.Hour), Changes: map[freshet.SourceID][]time.Time{}}
		for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
			id := freshet.SourceID(fmt.Sprint("s", i))
			trace.Sources = append(trace.Sources, freshet.Source{ID: id, URL: "https://a.example/"})
			at := start
			for range rapid.IntRange(0, 20).Draw(t, "changes") {
				at = at.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "gap")) * time.Second)
				trace.Changes[id] = append(trace.Changes[id], at)
			}
		}
		polls := 0
		trace.Answer = func(_ freshet.Poll, o *freshet.Outcome) {
			if polls++; polls%5 == 4 {
				o.Result, o.Failure = freshet.Failed, "connect"
			}
		}
		seen := map[freshet.SourceID]time.Time{}
		world := lab.NewWorld(trace, func(o freshet.Outcome) {
			if o.Result == freshet.Failed {
				return
			}
			want := freshet.Unchanged
			if seen[o.Source].IsZero() {
				want = freshet.First
			}
			for _, at := range trace.Changes[o.Source] {
				if want != freshet.First && at.After(seen[o.Source]) && !at.After(o.Began) {
					want = freshet.Changed
				}
			}
			if o.Result != want {
				t.Errorf("the poll of %s at %v found it %s, want %s", o.Source, o.Began.Sub(start), o.Result, want)
			}
			seen[o.Source] = o.Began
		})
		s := sched.New(&policy.RoundRobin{}, sched.Limits{
			Budget:  sched.Budget{Polls: float64(rapid.IntRange(1, 10).Draw(t, "polls")), Per: time.Minute},
			Backoff: sched.Backoff{Start: time.Second, Most: time.Second, Host: time.Second},
		})
		for _, src := range trace.Sources {
			s.Put(start, freshet.Watched{Source: src})
		}
		if err := sched.Run(t.Context(), s, world); err != nil {
			t.Fatal(err)
		}
		if polls < 50 {
			t.Errorf("only %d polls in an hour at one a minute or more", polls)
		}
	})
}
