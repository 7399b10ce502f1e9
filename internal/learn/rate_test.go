package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/test/tier"
)

const day = 24 * time.Hour

// Sources change at random, each at its own rate, and are polled at random
// moments, far more and far less often than they change.
func TestRatesAreFoundWithoutBias(t *testing.T) {
	tier.Slow(t, "it learns from thousands of histories")
	for _, gap := range []time.Duration{time.Hour, 4 * time.Hour, 16 * time.Hour} {
		t.Run(fmt.Sprint(gap), func(t *testing.T) {
			inside, sources, sumLog, sumMean, sumTruth := 0, 0, 0.0, 0.0, 0.0
			for seed := range uint64(3) {
				const pages = 70
				w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: pages * float64(10*time.Minute) / float64(gap)}, seed)
				end := monday.Add(60 * gap)
				rates := make([]float64, pages)
				for i := range rates {
					rates[i] = w.lognormal(1/(8*time.Hour).Seconds(), 1)
					w.add(freshet.Source{}, w.poisson(monday, end, rates[i]))
				}
				w.pollAtRandom(end, gap, nil)
				for i, truth := range rates {
					got := w.rateOverAWeek(end, freshet.Slot(i))
					sources++
					sumLog += math.Log(got.Mean / truth)
					sumMean += got.Mean
					sumTruth += truth
					if got.Low <= truth && truth <= got.High {
						inside++
					}
				}
			}
			cover := float64(inside) / float64(sources)
			t.Logf("sum of rates %.3f of the truth, mean log ratio %+.3f, intervals cover %.3f", sumMean/sumTruth, sumLog/float64(sources), cover)
			most := 1.15
			if gap > 8*time.Hour { // how fast those are that change between any two polls, no poll says
				most = 1.3
			}
			if bias := sumMean / sumTruth; bias < 0.9 || bias > most {
				t.Errorf("the rates add up to %.3f of the truth", bias)
			}
			if off := sumLog / float64(sources); off < -0.1 || off > 0.35 {
				t.Errorf("the typical rate is %+.3f off on the logarithmic scale", off)
			}
			if cover < 0.85 {
				t.Errorf("intervals for nine in ten hold the truth in %.3f of all cases", cover)
			}
		})
	}
}

// rateOverAWeek returns the rate of a source, and the bounds of it, on average
// over the hours and the days that may differ.
func (w *world) rateOverAWeek(from time.Time, slot freshet.Slot) (mean outlook.Range) {
	const moments = 21
	for i := range time.Duration(moments) {
		r := w.Outlook(from.Add(i*8*time.Hour+i*time.Hour/3), slot).Now
		mean.Mean += r.Mean / moments
		mean.Low += r.Low / moments
		mean.High += r.High / moments
	}
	return mean
}

// What nobody looks at is not known, and the range of the rate says so: it grows
// narrower with every poll.
func TestRangesNarrowWithEvidence(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 1)
	for range 20 {
		w.add(freshet.Source{}, w.poisson(monday, monday.Add(30*day), 1/(6*time.Hour).Seconds()))
	}
	width := func(at time.Time) (sum float64) {
		for slot := range w.sources {
			o := w.Outlook(at, freshet.Slot(slot))
			sum += math.Log(o.Now.High/o.Now.Low) / float64(len(w.sources))
		}
		return sum
	}
	last := width(monday.Add(time.Hour))
	for _, days := range []time.Duration{2, 8, 30} {
		end := monday.Add(days * day)
		w.pollAtRandom(end, 3*time.Hour, nil)
		now := width(end)
		if now >= last {
			t.Errorf("after %d days the ranges span a factor of %.2f, and before of %.2f", days, math.Exp(now), math.Exp(last))
		}
		last = now
	}
	if last > math.Log(8) {
		t.Errorf("after a month of polls the ranges still span a factor of %.2f", math.Exp(last))
	}
}

// A source becomes faster, slower, dies or comes back from the dead, and the
// rate follows.
func TestRatesFollowDrift(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	hourly, daily := 1/time.Hour.Seconds(), 1/day.Seconds()
	const turn, rest = 20 * day, 10 * day
	tests := []struct {
		what          string
		before, after float64
		low, high     float64 // of the rate ten days after the turn
	}{
		{"a source that becomes faster", daily, hourly, 0.3 * hourly, 3 * hourly},
		{"a source that becomes slower", hourly, daily, 0, 5 * daily},
		{"a source that dies", hourly, 0, 0, daily},
		{"a source that comes back from the dead", 0, hourly, 0.3 * hourly, 3 * hourly},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 3)
			middle, end := monday.Add(turn), monday.Add(turn+rest)
			turned := w.add(freshet.Source{}, append(w.poisson(monday, middle, tt.before), w.poisson(middle, end, tt.after)...))
			for range 15 {
				w.add(freshet.Source{}, w.poisson(monday, end, w.lognormal(1/(8*time.Hour).Seconds(), 1)))
			}
			w.pollAtRandom(end, 2*time.Hour, nil)
			if got := w.Outlook(end, turned).Now.Mean; got < tt.low || got > tt.high {
				t.Errorf("ten days later the rate is %.2f a day, want one between %.2f and %.2f", got*day.Seconds(), tt.low*day.Seconds(), tt.high*day.Seconds())
			}
		})
	}
}

// Changes come in bursts: one that was just found makes the next one likelier,
// and the likelihood fades when nothing more comes.
func TestBursts(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 10}, 5)
	end := monday.Add(12 * day)
	for range 20 {
		var changes []time.Time
		for _, at := range w.poisson(monday, end, 1/(2*day).Seconds()) {
			for range 12 {
				at = at.Add(time.Duration(w.draw.ExpFloat64() * float64(15*time.Minute)))
				changes = append(changes, at)
			}
		}
		w.add(freshet.Source{}, changes)
	}
	ahead := func(slot freshet.Slot, at time.Time) float64 { return w.Outlook(at.Add(20*time.Minute), slot).Expected }
	higher, found := 0, 0
	inBurst, quiet, bursts, quiets := 0.0, 0.0, 0, 0
	for at := monday.Add(20 * time.Minute); at.Before(end); at = at.Add(20 * time.Minute) {
		for slot := range freshet.Slot(20) {
			before := w.Outlook(at, slot).Expected // of the twenty minutes until now
			changed := w.poll(slot, at)
			if at.Sub(monday) < 4*day {
				continue
			}
			after := ahead(slot, at)
			if changed {
				found++
				inBurst += after
				bursts++
				if after > before {
					higher++
				}
			} else {
				quiet += after
				quiets++
			}
		}
	}
	inBurst, quiet = inBurst/float64(bursts), quiet/float64(quiets)
	t.Logf("expected in twenty minutes: %.3f after a change, %.4f after none; higher than before after %d of %d changes", inBurst, quiet, higher, found)
	if inBurst < 5*quiet {
		t.Errorf("%.3f changes are expected after one was found and %.3f after none, in a world of bursts", inBurst, quiet)
	}
	if float64(higher) < 0.6*float64(found) {
		t.Errorf("only %d of %d changes found raised what is expected next", higher, found)
	}
}
