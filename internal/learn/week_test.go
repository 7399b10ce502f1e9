package learn_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A source that changes at ten on weekdays is expected to, by its rhythm, and polls saw
// it there.
func TestRhythmOfASource(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: 10 * time.Minute, Polls: 1})
	l.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, monday)
	last := monday
	for at := monday.Add(30 * time.Minute); at.Before(monday.AddDate(0, 0, 70)); at = at.Add(30 * time.Minute) {
		o := freshet.Outcome{Source: "a", Began: at, Ended: at, Since: last, Result: freshet.Unchanged}
		if day := at.Weekday(); at.Hour() == 10 && at.Minute() == 30 && day != time.Saturday && day != time.Sunday {
			o.Result = freshet.Changed
		}
		l.Observe(at, 0, o)
		last = at
	}
	r := l.Rhythm(last, 0)
	if len(r.Hours) != 24 || len(r.Weekdays) != 7 || len(r.Minutes) != 12 || !r.Own {
		t.Fatalf("%d hours, %d weekdays, %d minutes, own %v", len(r.Hours), len(r.Weekdays), len(r.Minutes), r.Own)
	}
	if perDay := r.Rate.Mean * 86400; perDay < 0.5 || perDay > 0.95 || r.Rate.Low > r.Rate.Mean || r.Rate.High < r.Rate.Mean {
		t.Errorf("it changes %v times a day (%v), want 5/7", perDay, r.Rate)
	}
	for hour, b := range r.Hours {
		if hour == 10 && (b.Factor < 4 || b.Seen < 10) || (hour < 8 || hour > 12) && b.Factor > 1 {
			t.Errorf("at %d: %+v", hour, b)
		}
		if b.Due <= 0 {
			t.Errorf("at %d it was not watched", hour)
		}
	}
	for day, b := range r.Weekdays { // from Monday
		if (b.Factor > 1) != (day < 5) {
			t.Errorf("on day %d of the week: %+v", day, b)
		}
	}
}
