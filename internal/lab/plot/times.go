package plot

import "time"

const day = 24 * time.Hour

// timeSteps are the distances at which ticks may stand on an axis of time.
var timeSteps = []time.Duration{
	time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
	3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day,
}

// monthSteps are the same in months, for what is longer.
var monthSteps = []int{1, 3, 6, 12, 60, 600}

// mostSteps is how many distances between ticks an axis of time has room for.
const mostSteps = 5

// Times returns an axis of instants with the time at its ticks.
func Times(start time.Time, instant time.Duration, instants int) Axis {
	a := Axis{Caption: "time (UTC)", To: float64(instants)}
	end := start.Add(time.Duration(instants) * instant)
	first, next, form := timeTicks(start, end)
	for at := first; !at.After(end); at = next(at) {
		if !at.Before(start) {
			a.Ticks = append(a.Ticks, Tick{At: float64(at.Sub(start)) / float64(instant), Label: at.Format(form)})
		}
	}
	return a
}

// timeTicks returns where ticks begin, how they go on, and how they are written.
func timeTicks(start, end time.Time) (first time.Time, next func(time.Time) time.Time, form string) {
	for _, step := range timeSteps {
		if end.Sub(start)/step > mostSteps {
			continue
		}
		form = "2006-01-02"
		switch {
		case step < time.Minute:
			form = "15:04:05"
		case step < day:
			form = "01-02 15:04"
		}
		return start.Truncate(step), func(t time.Time) time.Time { return t.Add(step) }, form
	}
	months := monthSteps[len(monthSteps)-1]
	for _, m := range monthSteps {
		if end.Sub(start)/(time.Duration(m)*30*day) <= mostSteps {
			months = m
			break
		}
	}
	january := time.Date(start.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	return january, func(t time.Time) time.Time { return t.AddDate(0, months, 0) }, "2006-01-02"
}
