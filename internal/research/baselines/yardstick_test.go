package baselines_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
)

// polledByYardstick replays a grid under a Yardstick and returns the instants at which
// each page was polled.
func polledByYardstick(t *testing.T, g *lab.Grid, budget float64) [][]int {
	t.Helper()
	y := baselines.NewYardstick(baselines.YardstickConfig{Start: g.Start, Instant: g.Instant, Polls: budget})
	polls := make([][]int, len(g.Pages()))
	look := func(page, instant int, _ bool) { polls[page] = append(polls[page], instant) }
	if _, err := lab.Replay(t.Context(), g, y, lab.Options{Budget: budget, Look: look}); err != nil {
		t.Fatal(err)
	}
	return polls
}

func TestYardstickPollsBusySourcesMoreAndStarvesNone(t *testing.T) {
	changes := make([][]int, 10)
	for j := 1; j <= 1000; j += 2 {
		changes[3] = append(changes[3], j) // half of all instants; the others never
	}
	polls := polledByYardstick(t, lab.NewGrid(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour, 1000, changes), 1)
	for page, at := range polls {
		switch {
		case page == 3 && len(at) < 400:
			t.Errorf("the page that changes was polled %d times of 1000, want nearly half of them or more", len(at))
		case page != 3 && (len(at) < 10 || at[len(at)-1] < 800):
			t.Errorf("page %d, which never changes, was polled at %v: it was given up", page, at)
		}
	}
}

func TestYardstickLearnsTheHour(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	y := baselines.NewYardstick(baselines.YardstickConfig{Start: start, Instant: time.Hour})
	y.Put(start, 0, freshet.Source{ID: "a"}, start)
	worth := [24]float64{} // of the hour that ends then, when the last day comes
	for j := 1; j <= 60*24; j++ {
		now := start.Add(time.Duration(j) * time.Hour)
		y.Choose(now, 1, func(_ freshet.Slot, w float64) bool { worth[j%24] = w; return true })
		o := freshet.Outcome{Source: "a", Since: now.Add(-time.Hour), Began: now, Ended: now}
		if j%24 == 10 {
			o.Result = freshet.Changed
		}
		y.Observe(now, 0, o)
	}
	for hour, w := range worth {
		if hour != 10 && !(w < worth[10]/3) {
			t.Errorf("an hour is worth %v at %d, and %v at 10, when all changes are; want much less", w, hour, worth[10])
		}
	}
}

// The first poll of a source teaches nothing, and neither does one that failed.
func TestYardstickLearnsFromTheSecondPollOn(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	worths := func(results ...freshet.Result) (a, b float64) {
		y := baselines.NewYardstick(baselines.YardstickConfig{Start: start, Instant: time.Minute})
		y.Put(start, 0, freshet.Source{ID: "a"}, start)
		y.Put(start, 1, freshet.Source{ID: "b"}, start)
		for i, r := range results {
			y.Observe(at(i+1), 0, freshet.Outcome{Source: "a", Since: at(i), Began: at(i + 1), Ended: at(i + 1), Result: r})
		}
		n := len(results)
		y.Observe(at(n), 1, freshet.Outcome{Source: "b", Since: start, Began: at(n), Ended: at(n)})
		y.Choose(at(n+1), 2, func(slot freshet.Slot, worth float64) bool {
			if slot == 0 {
				a = worth
			} else {
				b = worth
			}
			return true
		})
		return a, b
	}
	if a, b := worths(freshet.Changed); a != b || a == 0 {
		t.Errorf("after one poll each the sources are worth %v and %v, want the same", a, b)
	}
	if a, b := worths(freshet.Failed, freshet.Changed); a != b || a == 0 {
		t.Errorf("after a failed poll and a first one the source is worth %v, the other %v; want the same", a, b)
	}
	if a, b := worths(freshet.Unchanged, freshet.Changed); a <= b {
		t.Errorf("after a second poll that found a change the source is worth %v, the other %v; want more", a, b)
	}
}

// A poll that finds a change after a long time tells of more than one: of a source
// that is taken to change every other minute, thirty in an hour.
func TestYardstickCountsWhatPollsHide(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	y := baselines.NewYardstick(baselines.YardstickConfig{Start: start, Instant: time.Minute, Polls: 1})
	y.Put(start, 0, freshet.Source{ID: "a"}, time.Time{})
	for _, minutes := range []time.Duration{1, 61} { // the first poll teaches it nothing
		now := start.Add(minutes * time.Minute)
		y.Observe(now, 0, freshet.Outcome{Began: now, Result: freshet.Changed})
	}
	worth := 0.0
	y.Choose(start.Add(71*time.Minute), 1, func(_ freshet.Slot, w float64) bool { worth = w; return true })
	if worth < 4 || worth > 6 {
		t.Errorf("%.3f changes are expected in ten minutes, want about 5", worth)
	}
}
