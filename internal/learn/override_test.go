package learn_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
)

// newForecaster returns a learner of three pages, seen at the start.
func newForecaster(tick time.Duration) *learn.Learner {
	l := learn.New(learn.Config{Tick: tick, Polls: 0.1})
	for slot, id := range []freshet.SourceID{"a", "b", "c"} {
		l.Put(monday, freshet.Slot(slot), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}, monday)
	}
	return l
}

// A page that changes at eight in the morning is expected to do so, and hardly at other
// hours; one that changes at all hours is not told apart.
func TestForecastKnowsTheHour(t *testing.T) {
	l := newForecaster(5 * time.Minute)
	now, since, cursor := monday, monday, freshet.Cursor(0)
	for range 30 * 24 {
		now = now.Add(time.Hour)
		for slot, changed := range []bool{now.Hour() == 8, now.Hour()%4 == 0} {
			cursor++
			o := freshet.Outcome{Cursor: cursor, Since: since, Began: now, Ended: now}
			if changed {
				o.Result = freshet.Changed
			}
			l.Observe(now, freshet.Slot(slot), o)
		}
		since = now
	}
	day := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	at := func(hour int) (from, to time.Time) {
		return day.Add(time.Duration(hour)*time.Hour - time.Hour), day.Add(time.Duration(hour) * time.Hour)
	}
	from, to := at(8)
	chance := make([]float64, 4)
	l.Chances(chance, from, to)
	morning := l.Expect(0, from, to)
	if evening := l.Expect(0, from.Add(10*time.Hour), to.Add(10*time.Hour)); morning < 0.3 || evening > morning/10 {
		t.Errorf("%.3f changes are expected at eight, and %.3f in the evening", morning, evening)
	}
	if want := -math.Expm1(-morning); math.Abs(chance[0]-want) > 1e-9 || chance[3] != 0 {
		t.Errorf("the chances at eight are %.4f, want %.4f first and none last", chance, want)
	}
	others := 0.0
	for hour := 9; hour < 8+24; hour++ {
		l.Chances(chance, from.Add(time.Duration(hour-8)*time.Hour), to.Add(time.Duration(hour-8)*time.Hour))
		others += chance[0]
	}
	if others/23 > morning/20 {
		t.Errorf("a change is expected at eight with %.2f, and at other hours with %.3f on average", morning, others/23)
	}
}

// What is given of a source is expected of it while it holds, in the place of what was
// learnt or on top of it, and is forgotten with the source.
func TestGivenIsExpected(t *testing.T) {
	l := newForecaster(30 * time.Second)
	day := func(x float64) time.Time { return monday.Add(time.Duration(x * 24 * float64(time.Hour))) }
	learnt := l.Expect(0, day(0), day(1))
	given, err := imported.Forecast{
		From: day(1), Until: day(3), Rate: new(2.0),
		Times: []imported.Chance{{At: day(1.5), Until: day(1.5), Chance: new(0.5)}, {At: day(2), Until: day(2.5), Expected: new(4.0)}},
	}.Given(monday)
	if err != nil {
		t.Fatal(err)
	}
	l.OverrideForecast(0, &given)
	for _, test := range []struct{ from, to, want float64 }{
		{0, 1, learnt}, {1, 1.4, 0.8}, {1.4, 1.5, 0.2 + 0.5}, {1.5, 1.6, 0.2}, {2, 2.25, 0.5 + 2}, {2.5, 3, 1}, {3, 4, learnt}, {1, 3, 4 + 4.5}, {0, 4, 2*learnt + 8.5},
	} {
		if got := l.Expect(0, day(test.from), day(test.to)); math.Abs(got-test.want) > 1e-4*test.want {
			t.Errorf("from day %v to %v %.5f changes are expected, want %.5f", test.from, test.to, got, test.want)
		}
	}
	chance := make([]float64, 3)
	l.Chances(chance, day(1.5).Add(-time.Minute), day(1.5))
	if want := 1 - 0.5*math.Exp(-2.0/1440); math.Abs(chance[0]-want) > 1e-6 || chance[1] > 0.4 {
		t.Errorf("the chances of a moment are %v, want %v first", chance, want)
	}
	given.Add = true
	l.OverrideForecast(0, &given)
	if got := l.Expect(0, day(1), day(3)); math.Abs(got-8.5-2*learnt) > 1e-3*got {
		t.Errorf("on top of what was learnt %.4f are expected, want %.4f", got, 8.5+2*learnt)
	}
	l.OverrideForecast(0, nil)
	if got := l.Expect(0, day(1), day(3)); math.Abs(got-2*learnt) > 1e-6*got {
		t.Errorf("%.4f are expected when all was taken back, want %.4f", got, 2*learnt)
	}
	l.OverrideForecast(0, &given)
	l.Remove(0)
	l.Put(monday, 0, freshet.Source{ID: "d", URL: "https://a.example/"}, monday)
	if got := l.Expect(0, day(1), day(3)); math.Abs(got-2*learnt) > 1e-6*got {
		t.Errorf("%.4f are expected of another source in the same place, want %.4f", got, 2*learnt)
	}
	l.OverrideForecast(7, &given) // of nobody
}

// Whatever is given, chances are chances, what is expected of two stretches adds up, and
// nothing that was learnt changes.
func TestGivenIsSound(t *testing.T) {
	test := t
	rapid.Check(t, func(t *rapid.T) {
		l := newForecaster(time.Duration(rapid.IntRange(1, 4000).Draw(t, "tick")) * time.Second)
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			return monday.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "second")) * time.Second)
		})
		c := imported.Forecast{Add: rapid.Bool().Draw(t, "add")}
		if rapid.Bool().Draw(t, "rate") {
			c.Rate, c.Until = new(rapid.Float64Range(0, 1e6).Draw(t, "changes")), monday.Add(100_001*time.Second)
		}
		for range rapid.IntRange(0, 20).Draw(t, "times") {
			at := imported.Chance{At: moment.Draw(t, "at")}
			if rapid.Bool().Draw(t, "stretch") {
				at.Until = at.At.Add(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "width")) * time.Second)
			}
			if rapid.Bool().Draw(t, "several") {
				at.Expected = new(rapid.Float64Range(0, 100).Draw(t, "expected"))
			} else {
				at.Chance = new(rapid.Float64Range(0, 1).Draw(t, "chance"))
			}
			c.Times = append(c.Times, at)
		}
		given, err := c.Given(monday)
		if err != nil {
			t.Skip(err)
		}
		before := saved(test, l)
		l.OverrideForecast(0, &given)
		for range 10 {
			from, to := moment.Draw(t, "from"), moment.Draw(t, "to")
			if to.Before(from) {
				from, to = to, from
			}
			mid := from.Add(to.Sub(from) / 2)
			all, parts := l.Expect(0, from, to), l.Expect(0, from, mid)+l.Expect(0, mid, to)
			if !(all >= 0) || !c.Add && math.Abs(all-parts) > 1e-3+0.01*all {
				t.Fatalf("%v changes are expected, and %v in two halves", all, parts)
			}
			chance := make([]float64, 5)
			l.Chances(chance, from, to)
			for slot, x := range chance {
				if !(x >= 0 && x <= 1) {
					t.Fatalf("the chance of %d is %v", slot, x)
				}
			}
		}
		if !maps.Equal(saved(test, l), before) {
			t.Fatal("something was learnt from what was given")
		}
	})
}
