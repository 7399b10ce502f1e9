package baselines

import "time"

// dayLength is what it says, in UTC, which knows no summer time.
const dayLength = 24 * time.Hour

// hoursOfDay is how many parts a dayProfile has.
const hoursOfDay = 24

// A dayProfile says how much more, or less, happens in each hour of the day
// (UTC) than in the mean. Settle has to be called before its first use.
type dayProfile struct {
	found, expected [hoursOfDay]float64     // changes, by hour
	height          [hoursOfDay]float64     // as of the last settle; the mean is 1
	before          [hoursOfDay + 1]float64 // seconds of a day before each hour, times their heights
}

// profileStiffness is how many changes in an hour of the day the profile is
// taken to be flat for, before any is seen.
const profileStiffness = 20

// settle makes what was learnt count.
func (d *dayProfile) settle() {
	mean := 0.0
	for i := range d.height {
		d.height[i] = (profileStiffness + d.found[i]) / (profileStiffness + d.expected[i])
		mean += d.height[i] / hoursOfDay
	}
	for i := range d.height {
		d.height[i] /= mean
		d.before[i+1] = d.before[i] + d.height[i]*time.Hour.Seconds()
	}
}

// upTo returns the seconds from 1970 to t, weighted by the profile. Only
// differences mean anything, and only until the next settle.
func (d *dayProfile) upTo(t time.Time) float64 {
	days, second := dayOf(t)
	hour := min(int(second/time.Hour.Seconds()), hoursOfDay-1)
	return float64(days)*dayLength.Seconds() + d.before[hour] + d.height[hour]*(second-float64(hour)*time.Hour.Seconds())
}

// learn takes in that between two moments changes were found at one rate where
// another was expected, both by the second and before they are weighted by the
// profile.
func (d *dayProfile) learn(from, to time.Time, found, expected float64) {
	first, begin := dayOf(from)
	last, end := dayOf(to)
	whole := float64(last-first) * time.Hour.Seconds()
	for i := range hoursOfDay {
		seconds := whole + within(i, end) - within(i, begin)
		d.found[i] += found * d.height[i] * seconds
		d.expected[i] += expected * seconds
	}
}

// within returns how many seconds of an hour of the day lie before a second of
// the day.
func within(hour int, second float64) float64 {
	length := time.Hour.Seconds()
	return max(0, min(length, second-float64(hour)*length))
}

// dayOf returns the day since 1970, and the second in it.
func dayOf(t time.Time) (days int64, second float64) {
	s := t.Unix()
	days = s / int64(dayLength/time.Second)
	if s < days*int64(dayLength/time.Second) {
		days--
	}
	return days, float64(s-days*int64(dayLength/time.Second)) + float64(t.Nanosecond())/1e9
}
