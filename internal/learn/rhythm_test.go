package learn_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/test/tier"
)

// Sources with a rhythm, polled at random: who has learnt the rhythm is less
// surprised by what polls find than who knows the rate and nothing else.
func TestRhythms(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	around := func(w *world, at time.Time, spread time.Duration) time.Time {
		return at.Add(time.Duration(w.draw.NormFloat64() * float64(spread)))
	}
	tests := []struct {
		what    string
		tick    time.Duration
		gap     time.Duration // between polls
		days    int
		changes func(w *world, day time.Time) []time.Time
		least   float64 // of the loss that has to be saved
	}{
		{"every day at nine", 30 * time.Minute, 5 * time.Hour, 42, func(w *world, day time.Time) []time.Time {
			return []time.Time{around(w, day.Add(9*time.Hour), 20*time.Minute)}
		}, 0.4},
		{"on Wednesdays", time.Hour, 14 * time.Hour, 140, func(w *world, day time.Time) []time.Time {
			if day.Weekday() != time.Wednesday {
				return nil
			}
			return []time.Time{day.Add(time.Duration(w.draw.Float64() * float64(24*time.Hour)))}
		}, 0.3},
		{"in office hours", 30 * time.Minute, 3 * time.Hour, 42, func(w *world, day time.Time) []time.Time {
			if d := day.Weekday(); d == time.Saturday || d == time.Sunday {
				return nil
			}
			return w.poisson(day.Add(8*time.Hour), day.Add(17*time.Hour), 1/(2*time.Hour).Seconds())
		}, 0.3},
		{"every hour at twenty past", time.Minute, 12 * time.Minute, 6, func(w *world, day time.Time) (at []time.Time) {
			for h := range time.Duration(24) {
				at = append(at, around(w, day.Add(h*time.Hour+20*time.Minute), time.Minute))
			}
			return at
		}, 0.3},
		{"every hour at a minute of its own", time.Minute, 12 * time.Minute, 6, nil, 0.3},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			const pages = 12
			w := newWorld(learn.Config{Tick: tt.tick, Polls: pages * float64(tt.tick) / float64(tt.gap)}, 11)
			end := monday.AddDate(0, 0, tt.days)
			for i := range pages {
				var changes []time.Time
				for d := range tt.days {
					day := monday.AddDate(0, 0, d)
					if tt.changes != nil {
						changes = append(changes, tt.changes(w, day)...)
						continue
					}
					for h := range time.Duration(24) {
						changes = append(changes, around(w, day.Add(h*time.Hour+time.Duration(5*i)*time.Minute), time.Minute))
					}
				}
				w.add(freshet.Source{}, changes)
			}
			scored := monday.Add(end.Sub(monday) / 2)
			var loss, flat float64
			n := 0
			w.pollAtRandom(end, tt.gap, func(slot freshet.Slot, at time.Time) {
				if at.Before(scored) {
					return
				}
				changed := w.happened(slot, w.since[slot], at) > 0
				loss += logLoss(w.Outlook(at, slot).Chance, changed)
				flat += logLoss(flatChance(w, slot, at), changed)
				n++
			})
			saved := 1 - loss/flat
			t.Logf("%d polls: loss %.3f, flat %.3f, saved %.0f%%", n, loss/float64(n), flat/float64(n), 100*saved)
			if saved < tt.least {
				t.Errorf("the rhythm saves %.0f%% of the loss of one who knows the rate alone, want %.0f%%", 100*saved, 100*tt.least)
			}
		})
	}
}

// flatChance is the chance of a change since a source was last seen, to one who
// knows its true rate and takes it to change at random.
func flatChance(w *world, slot freshet.Slot, at time.Time) float64 {
	changes := w.changes[slot]
	rate := float64(len(changes)) / changes[len(changes)-1].Sub(monday).Seconds()
	return chanceOf(rate * at.Sub(w.since[slot]).Seconds())
}

// A source of which hours and days mean nothing is not seen to have a rhythm.
func TestNoRhythmIsImagined(t *testing.T) {
	for _, tick := range []time.Duration{time.Minute, time.Hour} {
		t.Run(fmt.Sprint(tick), func(t *testing.T) {
			gap := 12 * tick
			w := newWorld(learn.Config{Tick: tick, Polls: 1}, 13)
			end := monday.Add(600 * gap)
			for range 12 {
				w.add(freshet.Source{}, w.poisson(monday, end, 1/(2*gap).Seconds()))
			}
			var loss, flat float64
			w.pollAtRandom(end, gap, func(slot freshet.Slot, at time.Time) {
				if at.Sub(monday) < 200*gap {
					return
				}
				changed := w.happened(slot, w.since[slot], at) > 0
				loss += logLoss(w.Outlook(at, slot).Chance, changed)
				flat += logLoss(flatChance(w, slot, at), changed)
			})
			t.Logf("loss %.3f of that of one who knows the truth", loss/flat)
			if loss > 1.05*flat {
				t.Errorf("the loss is %.3f of that of one who knows that there is no rhythm", loss/flat)
			}
		})
	}
}

// A source that changed at nine begins to change at nine in the evening, and
// what is expected follows.
func TestRhythmsChange(t *testing.T) {
	w := newWorld(learn.Config{Tick: 30 * time.Minute, Polls: 1.2}, 17)
	const days, turn = 90, 30
	for range 12 {
		var changes []time.Time
		for d := range days {
			hour := 9 * time.Hour
			if d >= turn {
				hour = 21 * time.Hour
			}
			changes = append(changes, monday.AddDate(0, 0, d).Add(hour+time.Duration(w.draw.NormFloat64()*float64(20*time.Minute))))
		}
		w.add(freshet.Source{}, changes)
	}
	rateAt := func(day int, hour time.Duration) float64 {
		return w.Outlook(monday.AddDate(0, 0, day).Add(hour), 0).Now.Mean
	}
	w.pollAtRandom(monday.AddDate(0, 0, turn), 5*time.Hour, nil)
	if nine, evening := rateAt(turn, 9*time.Hour), rateAt(turn, 21*time.Hour); nine < 3*evening {
		t.Errorf("before the turn the rate is %.2e at nine and %.2e in the evening, want more at nine", nine, evening)
	}
	w.pollAtRandom(monday.AddDate(0, 0, days), 5*time.Hour, nil)
	nine, evening := rateAt(days, 9*time.Hour), rateAt(days, 21*time.Hour)
	t.Logf("after the turn the rate is %.2e at nine and %.2e in the evening", nine, evening)
	if evening < nine {
		t.Errorf("after the turn the rate is %.2e at nine and %.2e in the evening, want more in the evening", nine, evening)
	}
}
