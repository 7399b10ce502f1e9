package policy_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/test/tier"
)

// A source that flips between two contents, or says that it changes all the
// time, or lies about its dates, takes no more than one that changes as often,
// and the others are captured as before.
func TestAutoBesideLiars(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	const pages, liars, budget, ticks = 50, 5, 4.0, 3000
	captured := func(t *testing.T, answer func(p freshet.Poll, o *freshet.Outcome)) (others int, share float64) {
		r := newAutoRun(time.Minute, ticks, budget)
		for range pages {
			r.add(freshet.Source{}, 0.02)
		}
		r.Answer = func(p freshet.Poll, o *freshet.Outcome) {
			if p.Source.ID < "s0005" {
				answer(p, o)
			}
		}
		r.run(t, nil)
		sound(t, r.auto, r.end, pages)
		spent := 0
		for _, o := range r.outcomes {
			switch {
			case o.Source < "s0005":
				spent++
			case o.Result == freshet.Changed:
				others++
			}
		}
		return others, float64(spent) / float64(len(r.outcomes)) * pages / liars
	}
	honest, _ := captured(t, func(freshet.Poll, *freshet.Outcome) {})
	every := func(from time.Time, gap time.Duration) (dates []time.Time) {
		for i := range 1000 {
			dates = append(dates, from.Add(-time.Duration(i)*gap))
		}
		return dates
	}
	end := newAutoRun(time.Minute, ticks, budget).end
	parity := func(at time.Time, every time.Duration) int64 { return at.UnixNano() / int64(every) % 2 }
	tests := []struct {
		what   string
		answer func(p freshet.Poll, o *freshet.Outcome)
		share  float64 // of an even share, at most
		keeps  float64 // of what is captured of the others
	}{
		{"dates in the future", func(_ freshet.Poll, o *freshet.Outcome) { o.Modified = o.Began.Add(300 * time.Hour) }, 2, 0.95},
		{"dates long past", func(_ freshet.Poll, o *freshet.Outcome) { o.Modified = time.Unix(1, 0) }, 2, 0.95},
		{"dates of now", func(_ freshet.Poll, o *freshet.Outcome) { o.Modified = o.Began }, 2, 0.95},
		{"dates at random", func(_ freshet.Poll, o *freshet.Outcome) {
			o.Modified = o.Began.Add(-time.Duration(o.Began.UnixNano() * 7919 % int64(24*time.Hour)))
		}, 2, 0.95},
		{"lists in the future", func(_ freshet.Poll, o *freshet.Outcome) { o.Dates = every(o.Began.Add(300*time.Hour), time.Minute) }, 2, 0.95},
		{"lists long past", func(_ freshet.Poll, o *freshet.Outcome) { o.Dates = every(time.Unix(1, 0), -time.Hour) }, 2, 0.95},
		{"lists of now", func(_ freshet.Poll, o *freshet.Outcome) { o.Dates = every(o.Began, time.Minute) }, 2, 0.95},
		{"lists that move backwards", func(_ freshet.Poll, o *freshet.Outcome) {
			o.Dates = every(end.Add(-o.Began.Sub(end)/2), -time.Minute)
		}, 2, 0.95},
		{"lists at random", func(_ freshet.Poll, o *freshet.Outcome) {
			o.Dates = every(o.Began, time.Duration(o.Began.UnixNano()*7919%int64(24*time.Hour)))
		}, 2, 0.95},
		{"two contents, by the minute", func(p freshet.Poll, o *freshet.Outcome) {
			o.Result = freshet.Unchanged
			if parity(o.Began, time.Minute) != parity(p.Since, time.Minute) {
				o.Result = freshet.Changed
			}
		}, 12, 0.5},
		{"two contents, by the hour", func(p freshet.Poll, o *freshet.Outcome) {
			o.Result = freshet.Unchanged
			if parity(o.Began, time.Hour) != parity(p.Since, time.Hour) {
				o.Result = freshet.Changed
			}
		}, 3, 0.9},
		{"all the time, with dates of now", func(_ freshet.Poll, o *freshet.Outcome) {
			o.Result, o.Modified = freshet.Changed, o.Began
		}, 12, 0.3}, // every poll of it pays: it earns one at every tick, which is 12.5 even shares
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			others, share := captured(t, tt.answer)
			t.Logf("each liar gets %.2f even shares; of the others %d changes are captured, and %d beside honest ones", share, others, honest)
			if share > tt.share {
				t.Errorf("each liar gets %.2f times an even share of the budget, want no more than %.0f", share, tt.share)
			}
			if float64(others) < tt.keeps*float64(honest) {
				t.Errorf("%d changes of the others are captured, and %d beside honest sources", others, honest)
			}
		})
	}
}
