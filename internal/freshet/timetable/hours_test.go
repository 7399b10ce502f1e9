package timetable_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet/timetable"
)

// Hours are written back as they are read, and mistakes are named.
func TestParseHours(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"mon-fri 09:00-17:00 Europe/Berlin":   "mon-fri 09:00-17:00 Europe/Berlin",
		"Monday-Friday 9:00-17:00 UTC":        "mon-fri 09:00-17:00",
		"08:00-20:00":                         "08:00-20:00",
		"mon,wed 09:00-12:00,sat 10:00-24:00": "mon,wed 09:00-12:00, sat 10:00-24:00",
		"fri-mon 22:00-06:00":                 "mon,fri,sat,sun 22:00-06:00",
		"sat-sun 00:00-00:00":                 "sat,sun 00:00-24:00",
	} {
		h, err := timetable.ParseHours(text)
		if err != nil || h.String() != want {
			t.Errorf("%q is read as %q: %v", text, h, err)
		}
		if again, err := timetable.ParseHours(h.String()); err != nil || again.String() != want {
			t.Errorf("%q is read again as %q: %v", h, again, err)
		}
	}
	for text, want := range map[string]string{
		"mon-fri":             "names no hours",
		"mon-fry 09:00-17:00": `"fry" is not a day`,
		"09:00":               "is not a span of time",
		"9-17":                `"9" is not a day`,
		"25:00-17:00":         "is not a time of day",
		"09:00-17:00 Mars":    "Mars",
		"09:00-17:00 Europe/Berlin, sat 10:00-11:00": "a time zone stands at the end",
		"mo 09:00-17:00": `"mo" is not a day`,
	} {
		if h, err := timetable.ParseHours(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %q: %v, want %q", text, h, err, want)
		}
	}
}

// The hours go by what the clock of the zone shows, also when it is put forward or back.
func TestOpenings(t *testing.T) {
	for _, tt := range []struct{ hours, at, opens, turn string }{
		{"mon-fri 09:00-17:00 Europe/Berlin", "2026-11-18T08:00:00Z", "2026-11-18T08:00:00Z", "2026-11-18T16:00:00Z"}, // a Wednesday in winter
		{"mon-fri 09:00-17:00 Europe/Berlin", "2026-07-15T07:00:00Z", "2026-07-15T07:00:00Z", "2026-07-15T15:00:00Z"}, // in summer
		{"mon-fri 09:00-17:00 Europe/Berlin", "2026-11-20T16:00:00Z", "2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z"}, // over a weekend
		{"mon-fri 09:00-17:00 Europe/Berlin", "2026-03-27T16:30:00Z", "2026-03-30T07:00:00Z", "2026-03-30T07:00:00Z"}, // put forward meanwhile
		{"22:00-06:00", "2026-11-18T23:00:00Z", "2026-11-18T23:00:00Z", "2026-11-19T06:00:00Z"},
		{"sun 22:00-06:00", "2026-11-23T05:59:59Z", "2026-11-23T05:59:59Z", "2026-11-23T06:00:00Z"},
		{"02:30-04:00 Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"}, // 02:30 is left out
		{"02:00-02:30 Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T00:00:00Z"}, // so are all of these
		{"02:00-02:30 Europe/Berlin", "2026-10-25T00:15:00Z", "2026-10-25T00:15:00Z", "2026-10-25T00:30:00Z"},
		{"02:00-02:30 Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:00:00Z"}, // shown twice
		{"00:00-24:00", "2026-11-18T08:00:00Z", "2026-11-18T08:00:00Z", ""},
		{"00:00-12:00, 12:00-24:00 Asia/Tokyo", "2026-11-18T08:00:00Z", "2026-11-18T08:00:00Z", ""},
	} {
		h, err := timetable.ParseHours(tt.hours)
		if err != nil {
			t.Fatal(err)
		}
		o, err := h.Openings()
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, tt.at)
		turn := ""
		if next := o.Turn(at); !next.IsZero() {
			turn = next.Format(time.RFC3339)
		}
		if opens := o.Opens(at).UTC().Format(time.RFC3339); opens != tt.opens || turn != tt.turn {
			t.Errorf("%s at %s: opens %s, turns %s; want %s and %s", tt.hours, tt.at, opens, turn, tt.opens, tt.turn)
		}
	}
}

// The next turn is where going through all minutes finds it.
func TestOpeningsByTheMinute(t *testing.T) {
	for _, text := range []string{"mon-fri 09:00-17:00 Europe/Berlin", "sat 23:30-00:15 America/St_Johns", "02:15-02:45, sun 20:00-03:00 Australia/Lord_Howe", "thu 01:00-02:30, fri 02:30-02:00 America/New_York"} {
		h, err := timetable.ParseHours(text)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := h.Openings()
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		turn := o.Turn(at)
		for minute := at; minute.Before(at.AddDate(1, 0, 0)); minute = minute.Add(time.Minute) {
			if o.Open(minute) == o.Open(minute.Add(-time.Minute)) || minute.Equal(at) {
				continue
			}
			if !minute.Equal(turn) {
				t.Fatalf("%s turns at %s, and Turn said %s", text, minute, turn)
			}
			turn = o.Turn(minute)
		}
	}
}
