package timetable_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/invalid"
	"freshet/internal/units"
)

func TestParseStrategy(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"hour {5, 15, 45}":                    "hour {5, 15, 45}",
		"Hour{45,5,5}":                        "hour {5, 45}",
		"hour {05} UTC":                       "hour {5}",
		" day { 14:00 , 6:30 } Europe/Berlin": "day {06:30, 14:00} Europe/Berlin",
		"week {thu 17:30, Monday 09:00} Europe/Berlin": "week {mon 09:00, thu 17:30} Europe/Berlin",
		"week {sun 23:59, mon 00:00}":                  "week {mon 00:00, sun 23:59}",
	} {
		s, err := timetable.Parse(text)
		if err != nil || s.String() != want {
			t.Errorf("%q is read as %q (%v), want %q", text, s, err, want)
		}
	}
	for text, want := range map[string]string{
		"hour {5, 75}":             "hour {5, 75}: minute 75 is past 59",
		"hour {5, x}":              `hour {5, x}: "x" is not a minute of the hour, such as 5`,
		"hour {-1}":                `"-1" is not a minute of the hour`,
		"hour {5,}":                `"" is not a minute of the hour`,
		"hour {}":                  "hour {}: names no time",
		"hour 5":                   "hour 5: names no times in braces; write for example hour {5, 35}",
		"hour {5":                  "has no } after the times",
		"month {5}":                `"month " is not hour, day or week`,
		"day {24:00}":              `day {24:00}: "24:00" is not a time of day, such as 08:00`,
		"day {6}":                  `"6" is not a time of day`,
		"week {mon}":               `"mon" has no time; write for example mon 09:00`,
		"week {mo 09:00}":          `"mo 09:00" is not a day and a time, such as mon 09:00`,
		"week {09:00}":             `"09:00" is not a day and a time`,
		"week {tue 9}":             `"9" is not a time of day`,
		"hour {5} Berlin":          `hour {5} Berlin: "Berlin" is not a time zone, such as Europe/Berlin or UTC`,
		"hour {5} Local":           `"Local" is not a time zone`,
		"hour {5} {6}":             `"{6}" is not a time zone`,
		"day {06:30} Europe/Berli": `"Europe/Berli" is not a time zone`,
	} {
		_, err := timetable.Parse(text)
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "strategy" || !strings.Contains(invalid.Reason, want) {
			t.Errorf("%q is refused with %v, want an InvalidError of the strategy: %s", text, err, want)
		}
	}
}

func TestStrategyInFiles(t *testing.T) {
	want := timetable.Strategy{Every: timetable.EveryWeek, Minutes: []int{540, 3*24*60 + 1050}, Zone: "Europe/Berlin"}
	type file struct {
		Strategy timetable.Strategy `json:"strategy" yaml:"strategy"`
	}
	for name, text := range map[string]string{
		"JSON": `{"strategy": "week {mon 09:00, thu 17:30} Europe/Berlin"}`,
		"YAML": "strategy: week {mon 09:00, thu 17:30} Europe/Berlin\n",
	} {
		var got file
		unmarshal := json.Unmarshal
		if name == "YAML" {
			unmarshal = func(b []byte, v any) error { return yaml.Unmarshal(b, v) }
		}
		if err := unmarshal([]byte(text), &got); err != nil || got.Strategy.String() != want.String() || !slices.Equal(got.Strategy.Minutes, want.Minutes) {
			t.Errorf("%s is read as %+v (%v), want %+v", name, got.Strategy, err, want)
		}
	}
	if text, err := json.Marshal(file{want}); err != nil || string(text) != `{"strategy":"week {mon 09:00, thu 17:30} Europe/Berlin"}` {
		t.Errorf("written as %s (%v)", text, err)
	}
}

func FuzzParseStrategy(f *testing.F) {
	for _, text := range []string{"hour {5, 15, 45}", "day {06:30, 14:00} Europe/Berlin", "week {mon 09:00, thu 17:30}", "week {mon}", "hour {}} UTC", "day{,}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := timetable.Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*invalid.Error](err); !ok {
				t.Fatalf("%q is refused with %v, which names no field", text, err)
			}
			return
		}
		again, err := timetable.Parse(s.String())
		if err != nil || again.String() != s.String() || !slices.Equal(again.Minutes, s.Minutes) {
			t.Fatalf("%q is written as %q, and that is read as %q (%v)", text, s, again, err)
		}
		if !slices.IsSorted(s.Minutes) || s.IsZero() != (strings.TrimSpace(text) == "") {
			t.Fatalf("%q is read as %+v", text, s)
		}
		if s.IsZero() {
			return
		}
		table, err := s.Timetable()
		if err != nil {
			t.Fatal(err)
		}
		after := time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)
		if next := table.Next(after); !next.After(after) || next.Sub(after) > s.Every.Length()+2*time.Hour {
			t.Fatalf("%q comes at %v after %v", text, next, after)
		}
	})
}

func TestStrategyThroughAChangeOfTheClock(t *testing.T) {
	for _, tt := range []struct {
		strategy, from string
		want           []string
	}{
		{"hour {5, 45}", "2026-03-01T12:05:00Z", []string{"2026-03-01T12:45:00Z", "2026-03-01T13:05:00Z"}},
		{"hour {0} Asia/Kolkata", "2026-03-01T12:00:00Z", []string{"2026-03-01T12:30:00Z", "2026-03-01T13:30:00Z"}},
		{"day {06:30} Europe/Berlin", "2026-03-28T00:00:00Z", []string{"2026-03-28T05:30:00Z", "2026-03-29T04:30:00Z"}},
		{"week {mon 09:00} Europe/Berlin", "2026-03-23T08:00:00Z", []string{"2026-03-30T07:00:00Z", "2026-04-06T07:00:00Z"}},
		// From 02:00 to 03:00 there is no time on 29 March: those are kept at the jump, and once.
		{"day {02:10, 02:50, 03:30} Europe/Berlin", "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:10:00Z"}},
		// From 02:00 to 03:00 comes twice on 25 October: the first counts.
		{"day {02:10, 02:50, 03:30} Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25T00:10:00Z", "2026-10-25T00:50:00Z", "2026-10-25T02:30:00Z"}},
		// An hour that comes twice is two hours, and one that is left out is none.
		{"hour {30} Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"}},
		{"hour {30} Europe/Berlin", "2026-03-29T00:00:00Z", []string{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}},
		// Half an hour is left out, and comes twice, at Lord Howe.
		{"hour {15, 45} Australia/Lord_Howe", "2026-10-03T15:10:00Z", []string{"2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z", "2026-10-03T16:15:00Z"}},
		{"hour {15, 45} Australia/Lord_Howe", "2026-04-04T14:20:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-04T15:45:00Z", "2026-04-04T16:15:00Z"}},
	} {
		at, err := time.Parse(time.RFC3339, tt.from)
		if err != nil {
			t.Fatal(err)
		}
		s, err := timetable.Parse(tt.strategy)
		if err != nil {
			t.Fatal(err)
		}
		table, err := s.Timetable()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range tt.want {
			at = table.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s from %s comes at\n%v, want\n%v", tt.strategy, tt.from, got, tt.want)
		}
	}
}

// A timetable is what somebody would do who looks at the clock once a minute, has a list
// of the times, and keeps each of them once as soon as the clock has reached it.
func TestTimetableByTheMinute(t *testing.T) {
	zones := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "America/Caracas", "Asia/Pyongyang"}
	turns := []string{"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-04", "2026-10-03", "2011-12-30", "2007-12-09", "2016-05-01", "2018-05-04"}
	rapid.Check(t, func(t *rapid.T) {
		s := timetable.Strategy{Every: rapid.SampledFrom(timetable.Periods).Draw(t, "every"), Zone: rapid.SampledFrom(zones).Draw(t, "zone")}
		period := int(s.Every.Length() / time.Minute)
		s.Minutes = rapid.SliceOfNDistinct(rapid.IntRange(0, period-1), 1, 6, rapid.ID).Draw(t, "minutes")
		slices.Sort(s.Minutes)
		table, err := s.Timetable()
		if err != nil {
			t.Fatal(err)
		}
		day, _ := time.Parse(time.DateOnly, rapid.SampledFrom(turns).Draw(t, "day"))
		begin := day.Add(-36 * time.Hour)
		wall := func(at time.Time) int { return int(table.Clock(at) / 60) }
		var want []time.Time
		reached := wall(begin)
		for at := begin.Add(time.Minute); at.Before(begin.Add(12 * units.Day)); at = at.Add(time.Minute) {
			now := wall(at)
			if s.Every == timetable.EveryHour { // whole hours more or less are no matter
				reached += (now - wall(at.Add(-time.Minute)) - 1) / 60 * 60
			}
			for ; reached < now; reached++ {
				if slices.Contains(s.Minutes, ((reached+1)%period+period)%period) && (len(want) == 0 || !want[len(want)-1].Equal(at)) {
					want = append(want, at)
				}
			}
		}
		at := begin
		for _, then := range want {
			if at = table.Next(at); !at.Equal(then) {
				t.Fatalf("%s comes at %v, want %v", s, at, then)
			}
		}
	})
}

func TestStrategyOf(t *testing.T) {
	strategy := func(text string) timetable.Strategy {
		s, err := timetable.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	byTag := []freshet.TagStrategy{{Tag: "news", Strategy: strategy("hour {5}")}, {Tag: "slow", Strategy: strategy("day {06:30}")}}
	for _, tt := range []struct {
		tags      []string
		own, want string
	}{
		{nil, "", ""}, {[]string{"other"}, "", ""}, {[]string{"slow"}, "", "day {06:30}"}, {[]string{"news", "slow"}, "", "hour {5}"}, {[]string{"news"}, "hour {7}", "hour {7}"},
	} {
		if got := freshet.StrategyOf(freshet.Source{Tags: tt.tags, Strategy: strategy(tt.own)}, byTag).String(); got != tt.want {
			t.Errorf("tags %v and its own %q: %q, want %q", tt.tags, tt.own, got, tt.want)
		}
	}
}

func TestStrategyOfASource(t *testing.T) {
	strategy, _ := timetable.Parse("hour {5}")
	s := freshet.Source{URL: "https://a.example/", Strategy: strategy, MaxGap: time.Hour}
	if _, err := s.Check(); err == nil || !strings.Contains(err.Error(), "max_gap") {
		t.Errorf("a strategy with a max_gap: %v", err)
	}
	s.MaxGap = 0
	s, err := s.Check()
	if err != nil {
		t.Fatal(err)
	}
	again, err := freshet.ParseDefinition(s.Definition())
	if err != nil || again.Strategy.String() != "hour {5}" || !strings.Contains(string(s.Definition()), `"strategy":"hour {5}"`) {
		t.Errorf("kept as %s, and read as %q (%v)", s.Definition(), again.Strategy, err)
	}
	if !s.Apart() || (&freshet.Source{}).Apart() {
		t.Error("a source with a strategy is not apart from the policy's")
	}
}
