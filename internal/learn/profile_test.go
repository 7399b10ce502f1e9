package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/learn"
)

// Four changes on a Monday at nine, where one was due: the factors by hand. What
// was due counts 5/2 as much, to bring it to the level of what was seen.
func TestProfileByHand(t *testing.T) {
	p := learn.NewProfile()
	p.Add(9, 4, 1)
	p.Settle(nil, 20)
	hours, weekdays, _ := p.Factors()
	// Hours are alike to their neighbours: half of it is at nine, and a quarter
	// an hour before and after.
	nine, beside := (20+2)/(20+2.5*0.5), (20+1)/(20+2.5*0.25)
	mean := (nine + 2*beside + 21) / 24
	for hour, got := range hours {
		want := 1.0
		switch hour {
		case 9:
			want = nine
		case 8, 10:
			want = beside
		}
		if math.Abs(float64(got)-want/mean) > 1e-6 {
			t.Errorf("the factor of hour %d is %v, want %v", hour, got, want/mean)
		}
	}
	// Days of the week are not.
	day := (20 + 4) / (20 + 2.5)
	mean = (day + 6) / 7
	for i, got := range weekdays {
		want := 1 / mean
		if i == 0 {
			want = day / mean
		}
		if math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("the factor of weekday %d is %v, want %v", i, got, want)
		}
	}
}

// The hours are a circle: midnight is beside eleven in the evening.
func TestProfileGoesRound(t *testing.T) {
	p := learn.NewProfile()
	p.Add(0, 50, 1)
	p.Settle(nil, 3)
	hours, _, minutes := p.Factors()
	if hours[23] != hours[1] || hours[23] <= hours[22] || hours[0] <= hours[23] {
		t.Errorf("after changes at midnight the factors of the hours are %v", hours)
	}
	evening := learn.NewProfile()
	evening.Add(23, 50, 1)
	evening.Settle(nil, 3)
	if hours, _, _ := evening.Factors(); hours[0] != hours[22] || hours[0] <= hours[1] {
		t.Errorf("after changes at eleven in the evening the factors of the hours are %v", hours)
	}
	if minutes[11] != minutes[1] || minutes[11] <= minutes[10] {
		t.Errorf("after changes on the hour the factors of the minutes are %v", minutes)
	}
}

// A profile is about when, and not how much: with ten times as much due in every
// hour it is about the same, and where as much was seen as due it is flat.
func TestProfileIsFreeOfLevel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plain, scaled, even := learn.NewProfile(), learn.NewProfile(), learn.NewProfile()
		by := math.Exp(rapid.Float64Range(-2, 2).Draw(rt, "by"))
		for hour := range 24 {
			seen := rapid.Float64Range(0, 2000).Draw(rt, "seen")
			due := rapid.Float64Range(200, 2000).Draw(rt, "due")
			plain.Add(hour, seen, due)
			scaled.Add(hour, seen, due*by)
			even.Add(hour, by*due, due)
		}
		for _, p := range []*learn.Profile{plain, scaled, even} {
			p.Settle(nil, 20)
		}
		a, _, _ := plain.Factors()
		b, _, _ := scaled.Factors()
		flat, _, _ := even.Factors()
		sum := 0.0
		for hour := range a {
			sum += float64(a[hour]) / 24
			if math.Abs(float64(a[hour]-b[hour])) > 0.02*float64(a[hour]) {
				rt.Fatalf("with %v times as much due the factor of hour %d goes from %v to %v", by, hour, a[hour], b[hour])
			}
			if math.Abs(float64(flat[hour])-1) > 0.01 {
				rt.Fatalf("where %v times as much was seen as due, hour %d has the factor %v", by, hour, flat[hour])
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			rt.Fatalf("the factors have a mean of %v", sum)
		}
	})
}

// Without changes of its own a profile is that of its parent, and with many it
// is its own.
func TestProfileFollowsItsParent(t *testing.T) {
	parent := learn.NewProfile()
	for hour := range 24 {
		parent.Add(hour, 10, 10)
	}
	parent.Add(9, 1000, 0)
	parent.Settle(nil, 20)
	above, _, _ := parent.Factors()

	p := learn.NewProfile()
	p.Settle(parent, 20)
	hours, _, _ := p.Factors()
	for hour := range hours {
		if math.Abs(float64(hours[hour]-above[hour])) > 1e-5 {
			t.Errorf("without changes the factor of hour %d is %v, and %v above", hour, hours[hour], above[hour])
		}
	}
	for hour := range 24 {
		p.Add(hour, 10, 100)
	}
	p.Add(21, 5000, 0)
	p.Settle(parent, 20)
	if hours[21] < 10*hours[9] {
		t.Errorf("after thousands of changes at nine in the evening the factor is %v then, and %v at nine in the morning as above", hours[21], hours[9])
	}
}

// Where what was due heeds the profile already, that is taken out again: a
// profile that is right stays as it is.
func TestProfileStaysWhereItIsRight(t *testing.T) {
	p := learn.NewProfile()
	for hour := range 24 {
		seen := 1000.0
		if hour > 8 && hour < 20 {
			seen = 3000
		}
		p.Add(hour, seen, 2000)
	}
	p.Settle(nil, 20)
	hours, _, _ := p.Factors()
	before := append([]float32(nil), hours...)
	for hour := range 24 { // a month of what the profile expects
		n := 30 * 2000 * float64(before[hour])
		p.AddBent(hour, n, n)
	}
	p.Settle(nil, 20)
	for hour := range hours { // but for those beside a step, which is smoothed
		if well := hour < 7 || hour > 10 && hour < 18; well && math.Abs(float64(hours[hour]/before[hour])-1) > 0.03 {
			t.Errorf("what was due came, and yet the factor of hour %d went from %v to %v", hour, before[hour], hours[hour])
		}
	}
}

// The factor of a moment is the product of those of its hour, its weekday and
// its minute, as far as the cycles have bins.
func TestFactorOfAMoment(t *testing.T) {
	p := learn.NewProfile()
	p.Add(9, 100, 1)
	p.Settle(nil, 3)
	hours, weekdays, minutes := p.Factors()
	c := learn.NewClock(monday.Add(-4*day), time.Minute) // a Thursday, on which 1970 began
	for _, tt := range []struct {
		tick int64
		left []int
		want float32
	}{
		{9 * 60, nil, hours[9] * weekdays[0] * minutes[0]},
		{9*60 + 7, nil, hours[9] * weekdays[0] * minutes[1]},
		{33*60 + 59, nil, hours[9] * weekdays[1] * minutes[11]},
		{9 * 60, []int{2}, hours[9] * weekdays[0]},
		{9 * 60, []int{1, 2}, hours[9]},
	} {
		if got := p.Factor(c, tt.tick, tt.left...); math.Abs(got/float64(tt.want)-1) > 1e-6 {
			t.Errorf("without cycles %v the factor of tick %d is %v, want %v", tt.left, tt.tick, got, tt.want)
		}
	}
}
