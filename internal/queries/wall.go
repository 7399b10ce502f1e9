package queries

import (
	"time"

	"freshet/internal/freshet"
)

// wall returns when a clock on the wall shows a time on a day. Where it shows it twice,
// because it was put back, that is the first time; where it never does, because it was
// put forward, it is the minute after the gap.
func wall(year int, month time.Month, day int, at freshet.TimeOfDay, in *time.Location) time.Time {
	utc := time.Date(year, month, day, int(at)/60, int(at)%60, 0, 0, time.UTC)
	var found time.Time
	for _, around := range []time.Duration{-freshet.Day, freshet.Day} {
		_, offset := utc.Add(around).In(in).Zone()
		t := utc.Add(-time.Duration(offset) * time.Second)
		if shows(t.In(in), at) && (found.IsZero() || t.Before(found)) {
			found = t
		}
	}
	if !found.IsZero() {
		return found
	}
	_, offset := utc.Add(-freshet.Day).In(in).Zone()
	t := utc.Add(-time.Duration(offset) * time.Second)
	for date := t.In(in).YearDay(); minutesOf(t.Add(-time.Minute).In(in)) >= at && t.Add(-time.Minute).In(in).YearDay() == date; {
		t = t.Add(-time.Minute)
	}
	return t
}

func shows(t time.Time, at freshet.TimeOfDay) bool { return minutesOf(t) == at }

func minutesOf(t time.Time) freshet.TimeOfDay { return freshet.TimeOfDay(t.Hour()*60 + t.Minute()) }

// nextDigest returns the first time of a digest after a moment.
func nextDigest(d freshet.Digest, after time.Time, in *time.Location) time.Time {
	local := after.In(in)
	if d.Every == freshet.DigestHour {
		// Offsets of time zones are not always whole hours.
		t := after.Truncate(time.Minute).Add(time.Minute)
		for t.In(in).Minute() != int(d.At)%60 {
			t = t.Add(time.Minute)
		}
		return t
	}
	for days := 0; ; days++ {
		year, month, day := local.Date()
		t := wall(year, month, day+days, d.At, in)
		if t.After(after) && (d.Every == freshet.DigestDay || t.In(in).Weekday() == d.Weekday()) {
			return t
		}
	}
}

// isQuiet reports whether a moment lies in quiet hours, by the clock on the wall.
func isQuiet(q freshet.QuietHours, local time.Time) bool {
	if q.IsZero() {
		return false
	}
	at, today := minutesOf(local), local.Weekday()
	yesterday := (today + 6) % 7
	if q.From < q.To {
		return q.From <= at && at < q.To && q.On(today)
	}
	return at >= q.From && q.On(today) || at < q.To && q.On(yesterday)
}

// quietEnd returns the first minute that is not quiet. Going by minutes is right
// whatever happens to the clock meanwhile.
func quietEnd(q freshet.QuietHours, now time.Time, in *time.Location) time.Time {
	t := now.Truncate(time.Minute)
	for end := t.Add(9 * freshet.Day); isQuiet(q, t.In(in)) && t.Before(end); {
		t = t.Add(time.Minute)
	}
	return t
}
