package learn_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A page that changes like a clock and is polled a little more often misses few of
// its changes. Chance would have it that half of them are missed. The polls tell:
// after one that found nothing the next one finds a change, and two in a row that
// find nothing never come. Of a page that changes at random the polls tell that,
// too.
func TestEvenPagesAreToldFromRandomOnes(t *testing.T) {
	for _, tt := range []struct {
		what      string
		changes   func(w *world, end time.Time) []time.Time
		off, wide float64
	}{
		{"like a clock", func(w *world, end time.Time) (at []time.Time) {
			for next := monday.Add(17 * time.Minute); next.Before(end); next = next.Add(time.Hour) {
				at = append(at, next.Add(time.Duration(w.draw.NormFloat64()*float64(3*time.Minute))))
			}
			return at
		}, 0.16, 0.4},
		{"at random", func(w *world, end time.Time) []time.Time { return w.poisson(monday, end, 1/time.Hour.Seconds()) }, 0.12, 0.6},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(learn.Config{Tick: 5 * time.Minute, Polls: 1, Memory: 1e5 * time.Hour}, 1)
			end := monday.Add(14 * day)
			const pages = 8
			for range pages {
				w.add(freshet.Source{}, tt.changes(w, end))
			}
			for at := monday.Add(20 * time.Minute); at.Before(end); at = at.Add(40*time.Minute + time.Duration(w.draw.Float64()*float64(20*time.Minute))) {
				for slot := range freshet.Slot(pages) {
					w.poll(slot, at.Add(time.Duration(slot)*time.Second))
				}
			}
			for slot := range freshet.Slot(pages) {
				share := learn.Share(w.Tally(slot))
				found := 0.0
				for _, o := range w.log {
					if o.slot == slot && o.Result == freshet.Changed {
						found++
					}
				}
				truth := found / float64(w.happened(slot, monday, w.since[slot]))
				t.Logf("said %.3f (%.3f to %.3f), and it was %.3f", share.Mean, share.Low, share.High, truth)
				if share.Low > truth || share.High < truth || share.Mean < truth-tt.off || share.Mean > truth+tt.off || share.High-share.Low > tt.wide {
					t.Errorf("the share captured is said to be %.3f (%.3f to %.3f), and it was %.3f", share.Mean, share.Low, share.High, truth)
				}
			}
		})
	}
}
