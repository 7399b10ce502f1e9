package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/learn"
)

// A day, a week and an hour have the bins that ticks of a length can tell apart.
func TestShapeFollowsTheTick(t *testing.T) {
	for tick, want := range map[time.Duration][3]int{
		time.Second:                 {24, 7, 12},
		29 * time.Minute:            {24, 7, 12},
		30 * time.Minute:            {24, 7, 0},
		time.Hour:                   {24, 7, 0},
		time.Hour + time.Nanosecond: {23, 7, 0},
		6 * time.Hour:               {4, 7, 0},
		day:                         {1, 7, 0},
		3 * day:                     {1, 7, 0},
	} {
		if got := learn.NewClock(monday, tick).Shape(); got != want {
			t.Errorf("a tick of %v has the shape %v, want %v", tick, got, want)
		}
	}
}

// The bins of a tick are those of the UTC calendar at its beginning, before 1970
// as after it.
func TestPhaseIsOfTheCalendar(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Unix(rapid.Int64Range(-3e9, 3e9).Draw(rt, "start"), rapid.Int64Range(0, 999_999_999).Draw(rt, "fraction"))
		length := rapid.SampledFrom([]time.Duration{time.Second, 7 * time.Second, time.Minute, 20 * time.Minute, time.Hour, 5 * time.Hour, day}).Draw(rt, "length")
		tick := rapid.Int64Range(-50_000, 50_000).Draw(rt, "tick")
		c := learn.NewClock(start, length)
		at := start.Add(time.Duration(tick) * length).UTC()
		bins := c.Shape()[0]
		inDay := at.Hour()*3600 + at.Minute()*60 + at.Second()
		want := [3]int{inDay * bins / 86400, (int(at.Weekday()) + 3) % 7, at.Minute() / 5} // 1970 began on a Thursday
		hour, weekday, minute := c.Phase(tick)
		if got := [3]int{hour, weekday, minute}; got != want {
			rt.Fatalf("a tick at %v falls into the bins %v, want %v", at, got, want)
		}
	})
}

// Moments are counted in ticks from the start, forth and back, to the fraction.
func TestClockCountsTicks(t *testing.T) {
	c := learn.NewClock(monday, 10*time.Minute)
	for _, tt := range []struct {
		at   time.Time
		want float64
	}{
		{monday, 0},
		{monday.Add(15 * time.Minute), 1.5},
		{monday.Add(-time.Minute), -0.1},
		{monday.Add(-10 * time.Minute), -1},
		{monday.AddDate(1, 0, 0), 365 * 144},
	} {
		if got := c.At(tt.at); got != tt.want {
			t.Errorf("%v is at %v ticks, want %v", tt.at, got, tt.want)
		}
		if got := c.Time(tt.want); got.Sub(tt.at).Abs() > time.Microsecond {
			t.Errorf("%v ticks are at %v, want %v", tt.want, got, tt.at)
		}
	}
	for _, far := range []time.Time{{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if years := math.Abs(c.At(far)) / (365.25 * 144); years < 290 || years > 295 {
			t.Errorf("%v is %v years from the start, want it to be cut to about 292", far, years)
		}
	}
	if got := learn.NewClock(time.Time{}, time.Hour).Time(0); !got.Equal(time.Unix(0, 0)) {
		t.Errorf("without a start, ticks are counted from %v, want from 1970", got)
	}
}

// The rates are from three a tick down to one in 100,000 ticks or in 60 days,
// whichever is slower, and neighbours differ by the same factor.
func TestGridOfRates(t *testing.T) {
	for tick, slowest := range map[time.Duration]float64{
		time.Second:    1.0 / (60 * 24 * 3600),
		time.Minute:    1e-5, // 60 days are 86,400 minutes
		52 * time.Hour: 1e-5,
	} {
		t.Run(fmt.Sprint(tick), func(t *testing.T) {
			rates := learn.NewClock(monday, tick).Grid()
			if got := rates[0]; math.Abs(got/slowest-1) > 1e-12 {
				t.Errorf("the slowest rate is %v, want %v", got, slowest)
			}
			if got := rates[learn.Points-1]; math.Abs(got/3-1) > 1e-12 {
				t.Errorf("the fastest rate is %v, want 3", got)
			}
			for i := 2; i < len(rates); i++ {
				if a, b := rates[i]/rates[i-1], rates[1]/rates[0]; math.Abs(a/b-1) > 1e-9 {
					t.Errorf("rate %d is %v times the one before, and the second %v times the first", i, a, b)
				}
			}
		})
	}
}

// A learner without settings has ticks of a minute, and forgets all but its
// settings when told to.
func TestDefaultsAndForget(t *testing.T) {
	if got := learn.New(learn.Config{}).Tick(); got != time.Minute {
		t.Errorf("the tick is %v, want a minute", got)
	}
	w := busyWorld(8, time.Hour, 100)
	w.Forget()
	fresh := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 2})
	if got, want := saved(t, w.Learner), saved(t, fresh); len(got) != 1 || got[-1] != want[-1] {
		t.Errorf("after it forgot everything, %d parts are known, in %s other than in a new learner", len(got), differing(got, want))
	}
	if w.Tick() != time.Hour || w.Upto() != 0 {
		t.Errorf("after it forgot everything, the tick is %v and outcome %d is the last, want an hour and none", w.Tick(), w.Upto())
	}
}
