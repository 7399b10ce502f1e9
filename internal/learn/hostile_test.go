package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/test/tier"
)

const year = 365 * day

// Whatever outcomes say, and whenever they say it was, nothing that is thought
// stops being a number.
func TestNothingDiverges(t *testing.T) {
	oddTimes := []time.Time{
		{}, time.Unix(0, 0), monday.Add(-year), monday.Add(-1), monday, monday.Add(1), monday.Add(year), monday.AddDate(200, 0, 0),
	}
	rapid.Check(t, func(rt *rapid.T) {
		tick := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, day}).Draw(rt, "tick")
		l := learn.New(learn.Config{Start: monday, Tick: tick, Polls: rapid.SampledFrom([]float64{0, 0.01, 1, 1e6}).Draw(rt, "polls")})
		const slots = 6
		now := monday
		moment := func(what string) time.Time {
			switch rapid.IntRange(0, 9).Draw(rt, what) {
			case 0:
				return rapid.SampledFrom(oddTimes).Draw(rt, "odd "+what)
			case 1:
				return now.Add(time.Duration(rapid.Int64Range(-int64(10*day), int64(10*day)).Draw(rt, "off")))
			}
			return now
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			slot := freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot"))
			switch rapid.IntRange(0, 7).Draw(rt, "step") {
			case 0:
				s := freshet.Source{
					ID: freshet.SourceID(fmt.Sprint("s", slot)), URL: fmt.Sprintf("https://h%d.example/%d", slot/2, slot),
					Paused: rapid.Bool().Draw(rt, "paused"),
					Life:   objective.Visibility{Kind: objective.VisibilityKind(rapid.IntRange(0, 3).Draw(rt, "life")), N: 3},
				}
				l.Put(now, slot, s, moment("since"))
			case 1:
				l.Remove(slot)
			default:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(200*tick)).Draw(rt, "later")))
				var dates []time.Time // in any order, some of them twice
				for range rapid.SampledFrom([]int{0, 0, 1, 3, 50}).Draw(rt, "dates") {
					dates = append(dates, moment("date"))
				}
				l.Observe(time.Time{}, slot, freshet.Outcome{
					Since: moment("since"), Began: moment("began"), Ended: moment("ended"), Modified: moment("modified"), Dates: dates,
					Result: freshet.Result(rapid.IntRange(0, 3).Draw(rt, "result")),
				})
			}
			sane(rt, l, moment("now"), slots)
		}
	})
}

// turmoil is things that happen to a clock: each makes of a moment the moment
// that the clock shows.
var turmoil = []struct {
	what  string
	clock func(real time.Time) time.Time
}{
	{"a clock that jumps ahead a year, and back a day later", func(at time.Time) time.Time {
		if d := at.Sub(monday); d > 20*day && d < 21*day {
			return at.Add(year)
		}
		return at
	}},
	{"a clock that jumps back a year, and forth a day later", func(at time.Time) time.Time {
		if d := at.Sub(monday); d > 20*day && d < 21*day {
			return at.Add(-year)
		}
		return at
	}},
	{"a clock that jumps ahead two hours, and back a day later", func(at time.Time) time.Time {
		if d := at.Sub(monday); d > 20*day && d < 21*day {
			return at.Add(2 * time.Hour)
		}
		return at
	}},
	{"a clock that stands still for a day", func(at time.Time) time.Time {
		if d := at.Sub(monday); d > 20*day && d < 21*day {
			return monday.Add(20 * day)
		}
		return at
	}},
	{"a clock that is set back a year for good", func(at time.Time) time.Time {
		if at.Sub(monday) > 20*day {
			return at.Add(-year)
		}
		return at
	}},
}

// After a clock went wrong, rates are found again.
func TestClocksThatJump(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	for _, tt := range turmoil {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 9)
			end := monday.Add(40 * day)
			const pages = 12
			hourly := 1 / (2 * time.Hour).Seconds()
			seen := make([]time.Time, pages)
			for slot := range pages {
				w.add(freshet.Source{}, w.poisson(monday, end, hourly))
				seen[slot] = monday
			}
			for at := monday.Add(10 * time.Minute); at.Before(end); at = at.Add(10 * time.Minute) {
				slot := freshet.Slot(w.draw.IntN(pages))
				shown := tt.clock(at)
				o := freshet.Outcome{Began: shown, Ended: shown}
				if w.happened(slot, seen[slot], at) > 0 {
					o.Result = freshet.Changed
				}
				seen[slot] = at
				w.Observe(time.Time{}, slot, o)
			}
			now := tt.clock(end)
			sane(t, w.Learner, now, pages)
			sum := 0.0
			for slot := range freshet.Slot(pages) {
				o := w.Outlook(now, slot)
				sum += o.Now.Mean / hourly / pages
				if o.Polls > 2e3 {
					t.Errorf("%.0f polls are in the tally of slot %d, and fewer than two thousand were made", o.Polls, slot)
				}
			}
			t.Logf("the rates are %.2f of the truth", sum)
			if sum < 0.5 || sum > 2 {
				t.Errorf("nineteen days after it the rates are %.2f of the truth", sum)
			}
		})
	}
}

// A clock that is set back while a poll is under way makes it end before it
// began. The source is waited for no longer than any other.
func TestPollsThatEndBeforeTheyBegan(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 10)
	end := monday.Add(3 * day)
	for range 6 {
		w.add(freshet.Source{}, w.poisson(monday, end, 1/(2*time.Hour).Seconds()))
	}
	w.pollAtRandom(end, time.Hour, nil)
	w.Observe(time.Time{}, 0, freshet.Outcome{Began: end.Add(year), Ended: end})
	w.Observe(time.Time{}, 1, freshet.Outcome{Began: end, Ended: end})
	expected, gaps := make([]float64, 6), make([]float64, 6)
	w.Expected(end.Add(day), expected, gaps)
	if math.Abs(gaps[0]-gaps[1]) > 1 || expected[0] <= 0 {
		t.Errorf("a day later the source was seen %v ticks ago and %v changes are expected, want as with another that was seen %v ticks ago", gaps[0], expected[0], gaps[1])
	}
}

// A source that was last seen in the future, by a clock that was wrong, is taken
// to be seen just now.
func TestSeenInTheFuture(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 12)
	end := monday.Add(3 * day)
	for range 6 {
		w.add(freshet.Source{}, w.poisson(monday, end, 1/(2*time.Hour).Seconds()))
	}
	w.pollAtRandom(end, time.Hour, nil)
	w.Put(end, 6, freshet.Source{ID: "late", URL: "https://late.example"}, end.Add(year))
	gaps := make([]float64, 7)
	w.Expected(end.Add(day), make([]float64, 7), gaps)
	if math.Abs(gaps[6]-144) > 1 {
		t.Errorf("a day later it was seen %v ticks ago, want 144", gaps[6])
	}
}

// Dates that a source gives are evidence and not truth: what is expected of one
// that lies about them is about what is expected of one that gives none.
func TestLiesAboutDates(t *testing.T) {
	lies := []struct {
		what string
		date func(w *world, at time.Time) time.Time
	}{
		{"always now", func(_ *world, at time.Time) time.Time { return at }},
		{"a second ago", func(_ *world, at time.Time) time.Time { return at.Add(-time.Second) }},
		{"in the future", func(_ *world, at time.Time) time.Time { return at.Add(30 * day) }},
		{"in the far past", func(*world, time.Time) time.Time { return time.Unix(0, 0) }},
		{"before the year 1700", func(*world, time.Time) time.Time { return time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC) }},
		{"at random", func(w *world, at time.Time) time.Time {
			return at.Add(time.Duration((2*w.draw.Float64() - 1) * float64(10*day)))
		}},
		{"at random within a day", func(w *world, at time.Time) time.Time {
			return at.Add(-time.Duration(w.draw.Float64() * float64(day)))
		}},
	}
	for _, tt := range lies {
		t.Run(tt.what, func(t *testing.T) {
			const pages = 12
			w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 2}, 14)
			end := monday.Add(20 * day)
			rate := 1 / (4 * time.Hour).Seconds()
			for range pages {
				w.add(freshet.Source{}, w.poisson(monday, end, rate))
			}
			var loss, flat float64
			n := 0
			for at := monday.Add(10 * time.Minute); at.Before(end); at = at.Add(10 * time.Minute) {
				slot := freshet.Slot(w.draw.IntN(pages))
				o := freshet.Outcome{Began: at, Ended: at, Modified: tt.date(w, at)}
				changed := w.happened(slot, w.since[slot], at) > 0
				if changed {
					o.Result = freshet.Changed
				}
				if at.Sub(monday) > 10*day {
					loss += logLoss(w.Outlook(at, slot).Chance, changed)
					flat += logLoss(chanceOf(rate*at.Sub(w.since[slot]).Seconds()), changed)
					n++
				}
				w.since[slot] = at
				w.Observe(time.Time{}, slot, o)
			}
			sane(t, w.Learner, end, pages)
			t.Logf("loss %.3f of that of one who knows the truth, over %d polls", loss/flat, n)
			if loss > 1.15*flat {
				t.Errorf("a source that says it changed %s makes the loss %.2f of that of one who knows the truth", tt.what, loss/flat)
			}
		})
	}
}

// A source that differs at every poll, however soon, and one that never differs
// are taken for what they are, next to others that are not misled by them.
func TestExtremes(t *testing.T) {
	for _, tick := range []time.Duration{time.Second, time.Minute, time.Hour, day} {
		t.Run(fmt.Sprint(tick), func(t *testing.T) {
			w := newWorld(learn.Config{Tick: tick, Polls: 2}, 15)
			end := monday.Add(4000 * tick)
			const pages = 10 // the first always differs, the second never, the third fails
			rate := 1 / (30 * tick).Seconds()
			for range pages {
				w.add(freshet.Source{}, w.poisson(monday, end, rate))
			}
			for at := monday.Add(tick); at.Before(end); at = at.Add(tick) {
				for range 2 {
					slot := freshet.Slot(w.draw.IntN(pages))
					if slot > 2 {
						w.poll(slot, at)
						continue
					}
					w.Observe(time.Time{}, slot, freshet.Outcome{Began: at, Ended: at, Result: [...]freshet.Result{freshet.Changed, freshet.Unchanged, freshet.Failed}[slot]})
				}
			}
			sane(t, w.Learner, end, pages)
			always, never := w.Outlook(end, 0).Now.Mean, w.Outlook(end, 1).Now.Mean
			others := 0.0
			for slot := freshet.Slot(3); slot < pages; slot++ {
				others += w.Outlook(end, slot).Now.Mean / rate / (pages - 3)
			}
			t.Logf("a tick: always %.3g, never %.3g; the others %.2f of the truth", always*tick.Seconds(), never*tick.Seconds(), others)
			if always < 5*rate || never > rate/5 {
				t.Errorf("the rate is %.3g times that of the others where every poll differs, and %.3g where none does", always/rate, never/rate)
			}
			if others < 0.6 || others > 2.5 { // an hour that is new takes some time to be told from the others
				t.Errorf("the rates of the others are %.2f of the truth", others)
			}
		})
	}
}
