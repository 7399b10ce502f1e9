package lab_test

import (
	"context"
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

// Replay a day in which one source changes every hour and another once, under a
// budget of one poll every half hour.
func ExampleReplay() {
	trace := &lab.Trace{
		Start:   start,
		End:     start.Add(24 * time.Hour),
		Latency: time.Second,
		Sources: []freshet.Source{{ID: "busy", URL: "https://busy.example/"}, {ID: "calm", URL: "https://calm.example/"}},
		Changes: map[freshet.SourceID][]time.Time{"calm": {start.Add(12*time.Hour + 10*time.Minute)}},
	}
	for h := range 24 {
		trace.Changes["busy"] = append(trace.Changes["busy"], start.Add(time.Duration(h)*time.Hour+25*time.Minute))
	}
	for _, name := range policy.Names {
		p, err := policy.New(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		score, err := lab.Replay(context.Background(), trace, p, sched.Limits{Budget: sched.Budget{Polls: 2, Per: time.Hour}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d polls, %d captured, %d missed, %v late\n",
			name, score.Polls, score.Captured, score.Missed(), score.MeanDelay().Round(time.Minute))
	}
	// Output:
	// uniform: 48 polls, 24 captured, 1 missed, 35m0s late
	// round-robin: 48 polls, 24 captured, 1 missed, 35m0s late
}

// A score agrees with what one finds by looking at every change on its own: it
// is captured if some poll of its source began at or after it and before the
// next change.
func TestScoreAgreesWithTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := &lab.Trace{Start: start, End: start.Add(time.Hour), Changes: map[freshet.SourceID][]time.Time{}}
		for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
			id := freshet.SourceID(fmt.Sprint("s", i))
			trace.Sources = append(trace.Sources, freshet.Source{ID: id, URL: "https://a.example/"})
			at := start
			for range rapid.IntRange(0, 20).Draw(t, "changes") {
				at = at.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "gap")) * time.Second)
				if at.Before(trace.End) {
					trace.Changes[id] = append(trace.Changes[id], at)
				}
			}
		}
		polls := map[freshet.SourceID][]time.Time{}
		trace.Answer = func(p freshet.Poll, o *freshet.Outcome) {
			if len(polls[p.Source.ID])%5 == 4 {
				o.Result, o.Failure = freshet.Failed, "connect"
			}
			polls[p.Source.ID] = append(polls[p.Source.ID], p.At)
		}
		failed := func(i int) bool { return i%5 == 4 }
		score, err := lab.Replay(t.Context(), trace, &policy.RoundRobin{}, sched.Limits{
			Budget:  sched.Budget{Polls: float64(rapid.IntRange(1, 10).Draw(t, "polls")), Per: time.Minute},
			Backoff: sched.Backoff{Start: time.Second, Most: time.Second, Host: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		captured := 0
		for id, changes := range trace.Changes {
			for i, at := range changes {
				until := trace.End.Add(time.Hour)
				if i+1 < len(changes) {
					until = changes[i+1]
				}
				for j, poll := range polls[id] {
					if !failed(j) && !poll.Before(at) && poll.Before(until) {
						captured++
						break
					}
				}
			}
		}
		if score.Captured != captured {
			t.Errorf("%d captured, want %d", score.Captured, captured)
		}
	})
}
