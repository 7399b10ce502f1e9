package client_test

import (
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/learn/outlook"
)

// rhythmAt changes in one hour of the week alone, in UTC.
func rhythmAt(day time.Weekday, hour int) client.Rhythm {
	r := client.Rhythm{Watched: client.Duration(30 * 24 * time.Hour)}
	for range 7 {
		r.Week = append(r.Week, make([]float64, 24))
	}
	r.Week[(int(day)+6)%7][hour] = 7
	return r
}

// The week of a rhythm is that of the zone it is shown in, by the clock of the moment.
func TestRhythmInZones(t *testing.T) {
	winter, summer := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		zone string
		now  time.Time
		day  time.Weekday // in UTC
		hour int

		wantDay  time.Weekday
		wantHour int
	}{
		{"UTC", winter, time.Monday, 0, time.Monday, 0},
		{"Europe/Berlin", winter, time.Monday, 9, time.Monday, 10},
		{"Europe/Berlin", summer, time.Monday, 9, time.Monday, 11},
		{"Europe/Berlin", summer, time.Sunday, 23, time.Monday, 1}, // around the end of the week
		{"America/New_York", winter, time.Monday, 3, time.Sunday, 22},
		{"America/New_York", summer, time.Saturday, 2, time.Friday, 22},
		{"Asia/Kolkata", winter, time.Tuesday, 9, time.Tuesday, 15},    // 5:30 ahead
		{"Asia/Kathmandu", winter, time.Tuesday, 9, time.Tuesday, 15},  // 5:45 ahead
		{"Pacific/Marquesas", winter, time.Monday, 2, time.Sunday, 17}, // 9:30 behind
		{"Pacific/Kiritimati", winter, time.Sunday, 12, time.Monday, 2},
	}
	for _, tt := range tests {
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		week := rhythmAt(tt.day, tt.hour).In(zone, tt.now)
		sum := 0.0
		for day := range week {
			for hour, x := range week[day] {
				sum += x
				if want := day == (int(tt.wantDay)+6)%7 && hour == tt.wantHour; (x > 0) != want {
					t.Errorf("%s %d:00 UTC in %s: %v at %d:00 of day %d from Monday, want it at %s %d:00", tt.day, tt.hour, tt.zone, x, hour, day, tt.wantDay, tt.wantHour)
				}
			}
		}
		if sum != 7 {
			t.Errorf("in %s %v changes a week are left of 7", tt.zone, sum)
		}
	}
}

// Words are in the zone, too: what is a night at home is a day elsewhere.
func TestRhythmInWords(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r := client.Rhythm{Rate: client.RateOf(outlook.Rate{Known: outlook.Estimated, Range: outlook.Range{Mean: 3.0 / 86400, Low: 2.0 / 86400, High: 5.0 / 86400}}), Watched: client.Duration(30 * 24 * time.Hour)}
	for day := range 7 {
		row := make([]float64, 24)
		if day < 5 {
			row[22], row[23] = 1.5, 1.5
		}
		r.Week = append(r.Week, row)
	}
	if got, want := r.Words(time.UTC, time.Time{}), "It changes about 3 times a day (2 to 5), mostly between 22:00 and 0:00, on weekdays."; got != want {
		t.Errorf("in UTC: %q, want %q", got, want)
	}
	summer := time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	if got, want := r.Words(berlin, summer), "It changes about 3 times a day (2 to 5), mostly between 0:00 and 2:00."; got != want {
		t.Errorf("in Berlin: %q, want %q", got, want)
	}
	if got, want := (client.Rhythm{}).Words(berlin, summer), "How often it changes is not known yet: it has not been watched for long."; got != want {
		t.Errorf("of nothing: %q, want %q", got, want)
	}
}
