package learn_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/test/tier"
)

// What polls find after a change tells whether changes come in bursts, of which most fall between
// two polls, and about how many there are.
func TestChangesInBursts(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	const tick = 4 * time.Minute
	end := monday.Add(8 * day)
	for _, tt := range []struct {
		what        string
		inBurst     int // changes, a few minutes apart
		least, most float64
	}{
		{"one by one", 1, 0.7, 1},
		{"in bursts", 8, 0.1, 0.6},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(learn.Config{Tick: tick, Polls: 0.625 * 4}, 8)
			for range 30 {
				var changes []time.Time
				for _, at := range w.poisson(monday, end, 1/(6*time.Hour).Seconds()) {
					for range tt.inBurst {
						changes = append(changes, at)
						at = at.Add(time.Duration(w.draw.ExpFloat64() * float64(6*time.Minute)))
					}
				}
				w.add(freshet.Source{}, changes)
			}
			w.pollAtRandom(end, time.Hour, nil)
			var said outlook.Tally
			captured, happened := 0, 0
			for slot := range freshet.Slot(len(w.sources)) {
				said = said.Add(w.Tally(slot))
				ticks := map[int64]bool{}
				for _, at := range w.changes[slot] {
					ticks[at.UnixNano()/int64(tick)] = true
				}
				happened += len(ticks)
			}
			for _, o := range w.log {
				if o.Result == freshet.Changed {
					captured++
				}
			}
			truth, share := float64(captured)/float64(happened), learn.Share(said)
			t.Logf("said %.3f (%.3f to %.3f), is %.3f", share.Mean, share.Low, share.High, truth)
			if truth < share.Low || truth > share.High {
				t.Errorf("the share captured is said to be between %.3f and %.3f, and is %.3f", share.Low, share.High, truth)
			}
			if share.Mean < tt.least || share.Mean > tt.most {
				t.Errorf("the share captured is said to be %.3f, want one between %v and %v", share.Mean, tt.least, tt.most)
			}
		})
	}
}
