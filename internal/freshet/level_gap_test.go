package freshet_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
)

// A source that is polled at the gap of its level has just the share of its
// changes seen in time.
func TestGapKeepsTheLevel(t *testing.T) {
	for _, tt := range []struct {
		what  string
		level freshet.ServiceLevel
		life  freshet.Life
		every time.Duration
	}{
		{"slow page", freshet.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, freshet.Life{}, 5 * time.Hour},
		{"busy page", freshet.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, freshet.Life{}, 10 * time.Minute},
		{"half of it", freshet.ServiceLevel{Share: 0.5, Within: 10 * time.Minute}, freshet.Life{}, 10 * time.Minute},
		{"log", freshet.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, freshet.Life{Kind: freshet.LifeAppend}, time.Minute},
		{"list of five", freshet.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, freshet.Life{Kind: freshet.LifeLast, N: 5}, 3 * time.Minute},
		{"window", freshet.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, freshet.Life{Kind: freshet.LifeWindow, For: 4 * time.Minute}, 3 * time.Minute},
	} {
		t.Run(tt.what, func(t *testing.T) {
			gap := tt.level.Gap(tt.life, 1/tt.every.Seconds())
			draw := rand.New(rand.NewPCG(1, 2))
			all, inTime := 0, 0
			for range 20000 {
				var at []float64
				for x := draw.ExpFloat64() * tt.every.Seconds(); x < gap; x += draw.ExpFloat64() * tt.every.Seconds() {
					at = append(at, x)
				}
				for i, x := range at {
					all++
					waits, after := gap-x, len(at)-1-i
					there := tt.life.Kind == freshet.LifeAppend || tt.life.Kind == freshet.LifeWindow && waits <= tt.life.For.Seconds() ||
						tt.life.Kind == freshet.LifeLast && after < tt.life.N || tt.life.Kind == freshet.LifeOverwrite && after == 0
					if there && waits <= tt.level.Within.Seconds() {
						inTime++
					}
				}
			}
			if share := float64(inTime) / float64(all); math.Abs(share-tt.level.Share) > 0.03 {
				t.Errorf("polled every %.0f s, %.3f of %d changes are seen in time, want %v", gap, share, all, tt.level.Share)
			}
		})
	}
}
