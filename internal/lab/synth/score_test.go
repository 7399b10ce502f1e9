package synth_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTally(t *testing.T) {
	s := time.Second
	// Versions 2 to 6 come at 10 to 50 seconds.
	w := one(synth.Page{Schedule: synth.Until{Schedule: synth.Regular{Every: 10 * s}, Stop: 50 * s}})
	got := func(version int, at time.Duration) synth.Capture {
		return synth.Capture{Page: "page", Version: version, At: start.Add(at)}
	}
	tests := []struct {
		name     string
		captures []synth.Capture
		from, to time.Duration
		want     synth.Score
	}{
		{"nothing has happened", nil, 0, 9 * s, synth.Score{}},
		{"a change nobody has seen yet", nil, 0, 10 * s, synth.Score{Changes: 1, Pending: 1}},
		{"a change nobody can see any more", nil, 0, 20 * s, synth.Score{Changes: 2, Missed: 1, Pending: 1}},
		{"the last change stays", nil, 0, 1000 * s, synth.Score{Changes: 5, Missed: 4, Pending: 1}},
		{"captured", []synth.Capture{got(1, 0), got(2, 13*s), got(4, 31*s)}, 0, 45 * s,
			synth.Score{Changes: 4, Captured: 2, Missed: 1, Pending: 1, Delay: 4 * s}},
		{"captured twice counts once, the first time", []synth.Capture{got(2, 17*s), got(2, 12*s), got(2, 15*s)}, 0, 19 * s,
			synth.Score{Changes: 1, Captured: 1, Delay: 2 * s}},
		{"captured a moment too soon, by another clock, counts without delay", []synth.Capture{got(2, 8*s), got(3, 21*s)}, 0, 25 * s,
			synth.Score{Changes: 2, Captured: 2, Delay: 1 * s}},
		{"captured later is not captured yet", []synth.Capture{got(2, 17*s)}, 0, 16 * s, synth.Score{Changes: 1, Pending: 1}},
		{"changes from before do not count", []synth.Capture{got(2, 12*s)}, 10 * s, 25 * s, synth.Score{Changes: 1, Pending: 1}},
		{"other pages do not count", []synth.Capture{{Page: "other", Version: 2, At: start.Add(12 * s)}}, 0, 15 * s, synth.Score{Changes: 1, Pending: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, w.Judge(tt.captures, start.Add(tt.from), start.Add(tt.to))); diff != "" {
				t.Errorf("the score is not as expected (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreInWords(t *testing.T) {
	s := synth.Score{Changes: 9, Captured: 3, Missed: 1, Pending: 5, Delay: 6 * time.Second}
	if got := s.Recall(); got != 0.75 {
		t.Errorf("recall is %v, want 0.75", got)
	}
	if got := s.MeanDelay(); got != 2*time.Second {
		t.Errorf("the mean delay is %v, want 2s", got)
	}
	if got := (synth.Score{}).Recall(); got != 1 {
		t.Errorf("who had nothing to capture has recall %v, want 1", got)
	}
	if got := (synth.Score{}).MeanDelay(); got != 0 {
		t.Errorf("who captured nothing has a mean delay of %v, want 0", got)
	}
}

// TestUniformRival holds the arithmetic to a poller that really polls, reads
// what it is sent and is tallied like anybody else.
func TestUniformRival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pages []synth.Page
		for i := range rapid.IntRange(1, 6).Draw(t, "pages") {
			pages = append(pages, synth.Page{
				ID: freshet.SourceID(fmt.Sprintf("p%d", 9-i)), Host: "host", Form: synth.Bulletin,
				Schedule: schedules().Draw(t, "schedule"), Trouble: troubles().Draw(t, "trouble"),
			})
		}
		c := newClock()
		w := synth.New(synth.Config{Seed: rapid.Uint64().Draw(t, "seed"), Start: start, Now: c.Now, Pages: pages})
		every := time.Duration(rapid.IntRange(100, 5000).Draw(t, "every")) * time.Millisecond
		from := time.Duration(rapid.IntRange(0, 60_000).Draw(t, "from")) * time.Millisecond
		to := from + time.Duration(rapid.IntRange(-1000, 120_000).Draw(t, "long"))*time.Millisecond

		var captures []synth.Capture
		sorted := w.Pages()
		for k, at := 0, from; at <= to; k, at = k+1, at+every {
			id := sorted[k%len(sorted)].ID
			if resp, err := poll(w, c, id, at, freshet.Validators{}); err == nil {
				v, _ := synth.VersionIn(resp.Body)
				captures = append(captures, synth.Capture{Page: id, Version: v, At: start.Add(at)})
			}
		}
		want := w.Judge(captures, start.Add(from), start.Add(to))
		if diff := cmp.Diff(want, w.UniformRival(every, start.Add(from), start.Add(to))); diff != "" {
			t.Errorf("the rival's score is not that of a real poller (-want +got):\n%s", diff)
		}
	})
}

func troubles() *rapid.Generator[synth.Trouble] {
	return rapid.Custom(func(t *rapid.T) synth.Trouble {
		seconds := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
		}
		return synth.Trouble{
			Status: rapid.SampledFrom([]int{0, 0, 404, 503}).Draw(t, "status"),
			From:   seconds("from", 60), For: seconds("for", 20), Every: seconds("every", 40),
		}
	})
}

func TestDemoIsWorthLearning(t *testing.T) {
	w := synth.Demo(1, start)
	s := w.UniformRival(time.Second, start, start.Add(10*time.Minute))
	if r := s.Recall(); r < 0.2 || r > 0.8 {
		t.Errorf("a uniform poller with a poll a second has recall %.2f, want room on both sides: %+v", r, s)
	}
	t.Logf("%+v, recall %.3f, mean delay %v", s, s.Recall(), s.MeanDelay())
}
