package imported_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/learn/imported"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// Chances hold from the first of their times until the last is over, unless somebody says
// otherwise; what is wrong with them is named.
func TestChancesAreChecked(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	in := func(minutes ...int) (times []imported.Chance) {
		for _, m := range minutes {
			times = append(times, imported.Chance{At: at(m)})
		}
		return times
	}
	one := func(c imported.Chance) imported.Forecast { return imported.Forecast{Times: []imported.Chance{c}} }
	for _, test := range []struct {
		name   string
		given  imported.Forecast
		field  string // "" if it is right
		reason string
	}{
		{"times", imported.Forecast{Times: in(50, 10)}, "", ""},
		{"one that has come", imported.Forecast{Times: in(-10, 10)}, "", ""},
		{"a rate", imported.Forecast{Rate: new(3.0), Until: at(60)}, "", ""},
		{"silence", imported.Forecast{Rate: new(0.0), Until: at(60)}, "", ""},
		{"a chance of none", one(imported.Chance{At: at(1), Chance: new(0.0)}), "", ""},
		{"nothing", imported.Forecast{}, "times", "no rate_per_day"},
		{"nothing until then", imported.Forecast{Until: at(60)}, "times", "there are none"},
		{"a rate for ever", imported.Forecast{Rate: new(3.0)}, "until", "missing"},
		{"a rate below nothing", imported.Forecast{Rate: new(-1.0), Until: at(60)}, "rate_per_day", "-1 is not"},
		{"a rate that is none", imported.Forecast{Rate: new(math.NaN()), Until: at(60)}, "rate_per_day", "NaN is not"},
		{"a rate beyond all", imported.Forecast{Rate: new(math.Inf(1)), Until: at(60)}, "rate_per_day", "is not"},
		{"an end that has passed", imported.Forecast{Rate: new(3.0), From: at(-60), Until: at(-1)}, "until", "has passed"},
		{"times that have passed", imported.Forecast{Times: in(-60, -5)}, "until", "has passed"},
		{"an end before the beginning", imported.Forecast{Rate: new(3.0), From: at(60), Until: at(30)}, "until", "is not after"},
		{"for ages", imported.Forecast{Rate: new(3.0), Until: noon.AddDate(30, 0, 0)}, "until", "too late"},
		{"before history", imported.Forecast{Rate: new(3.0), From: noon.AddDate(-100, 0, 0), Until: at(1)}, "from", "1970"},
		{"a time before they hold", imported.Forecast{From: at(5), Times: in(10, 3)}, "times[1].at", "before"},
		{"a time after they hold", imported.Forecast{Until: at(5), Times: in(3, 10)}, "times[1].at", "after"},
		{"no time", one(imported.Chance{Chance: new(1.0)}), "times[0].at", "missing"},
		{"a time of another age", one(imported.Chance{At: noon.AddDate(400, 0, 0)}), "times[0].at", "1970 to 2200"},
		{"a stretch that ends before it begins", one(imported.Chance{At: at(5), Until: at(4)}), "times[0].until", "before"},
		{"a stretch of ages", one(imported.Chance{At: at(5), Until: noon.AddDate(90, 0, 0)}), "times[0].until", "too late"},
		{"more than certain", one(imported.Chance{At: at(5), Chance: new(1.01)}), "times[0].chance", "from 0 to 1"},
		{"less than none", one(imported.Chance{At: at(5), Chance: new(-0.1)}), "times[0].chance", "from 0 to 1"},
		{"no number", one(imported.Chance{At: at(5), Chance: new(math.NaN())}), "times[0].chance", "NaN"},
		{"both", one(imported.Chance{At: at(5), Chance: new(0.1), Expected: new(1.0)}), "times[0].expected", "together"},
		{"too many changes", one(imported.Chance{At: at(5), Expected: new(1e7)}), "times[0].expected", "1000000"},
		{"too many times", imported.Forecast{Times: make([]imported.Chance, imported.MaxChances+1)}, "times", "10001"},
	} {
		given, err := test.given.Given(noon)
		field, _ := invalid.FieldOf(err)
		if field != test.field || err != nil && !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %q is wrong (%v), want %q", test.name, field, err, test.field)
		}
		if err != nil {
			continue
		}
		read, ok, err := imported.ParseForecast(given.Memory())
		if err != nil || !ok || string(read.Memory()) != string(given.Memory()) {
			t.Errorf("%s: %s is read as %s (%v)", test.name, given.Memory(), read.Memory(), err)
		}
	}
	given, err := imported.Forecast{Times: in(50, -10, 20)}.Given(noon)
	if err != nil || !given.From.Equal(at(-10)) || !given.Until.Equal(at(51)) || !given.Times[1].At.Equal(at(20)) {
		t.Errorf("they hold as %+v (%v)", given, err)
	}
	if next, ok := given.Next(noon); !ok || !next.At.Equal(at(20)) || next.Likely() != 1 {
		t.Errorf("the next is %+v", next)
	}
	if later := given.Shifted(time.Hour); !later.Times[0].At.Equal(at(50)) || !given.Times[0].At.Equal(at(-10)) || !later.Until.Equal(at(111)) {
		t.Errorf("an hour later they are %+v", later)
	}
}

// A file of chances is a table or JSON; what is wrong in it is named with its line.
func TestReadChances(t *testing.T) {
	for _, test := range []struct{ text, want, wrong string }{
		{"2026-11-16T12:10:00Z,0.5\n\n# and\n2026-11-16T12:20:00Z\n", `{"times":[{"at":"2026-11-16T12:10:00Z","chance":0.5},{"at":"2026-11-16T12:20:00Z"}]}`, ""},
		{"Chance , Time,until,why\n90%,2026-11-16T12:10:00+01:00,1794827520,x\n,2026-11-16T12:10:00Z,,\n", `{"times":[{"at":"2026-11-16T11:10:00Z","until":"2026-11-16T11:12:00Z","chance":0.9},{"at":"2026-11-16T12:10:00Z"}]}`, ""},
		{"time,expected\n2026-11-16T12:10:00Z,3\n", `{"times":[{"at":"2026-11-16T12:10:00Z","expected":3}]}`, ""},
		{` {"until": "2026-11-17T00:00:00Z", "rate_per_day": 4, "add": true}`, `{"until":"2026-11-17T00:00:00Z","rate_per_day":4,"add":true}`, ""},
		{`[{"at": "2026-11-16T12:10:00Z"}]`, `{"times":[{"at":"2026-11-16T12:10:00Z"}]}`, ""},
		{"", "", "has no times"},
		{"# nothing\n", "", "has no times"},
		{"time,chance\n2026-11-16T12:10:00Z,1\nnoon,1\n", "", `line 3: time: "noon" is not a time`},
		{"2026-11-16T12:10:00Z,often\n", "", `line 1: chance: "often" is not a number`},
		{"2026-11-16T12:10:00Z,NaN\n", "", `line 1: chance: "NaN" is not a number`},
		{"2026-11-16T12:10:00Z,2\n", "", "line 1: chance: 2 is not a chance from 0 to 1"},
		{"chance,time\n1,\n", "", "line 2: time: is missing"},
		{"2026-11-16T12:10:00Z,1,2\n", "", "line 1: has 3 cells"},
		{"time,page\n2026-11-16T12:10:00Z,a\n", "", `line 2: has a column "page"`},
		{"time\n\"2026\n", "", "line 2: "},
		{`{"rate": 4}`, "", `unknown field "rate"`},
		{`{"rate_per_day": "4"}`, "", "rate_per_day"},
		{`[] []`, "", "after the end"},
		{`[` + strings.Repeat(" ", 5<<20) + `]`, "", "longer than 4MiB"},
	} {
		c, err := imported.ReadForecast(strings.NewReader(test.text))
		switch {
		case test.wrong == "" && (err != nil || string(c.Memory()) != test.want):
			t.Errorf("%q is read as %s (%v), want %s", test.text, c.Memory(), err, test.want)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%.40q is wrong by %v, want %q", test.text, err, test.wrong)
		}
	}
}

// What is read and holds can be kept and read again.
func FuzzReadChances(f *testing.F) {
	f.Add("time,until,chance,expected\n2026-11-16T12:10:00Z,,0.5,\n")
	f.Add("1794830000,90%\n")
	f.Add(`{"until": "2026-11-17T00:00:00Z", "rate_per_day": 4, "times": [{"at": "2026-11-16T12:10:00Z", "expected": 2}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := imported.ReadForecast(strings.NewReader(text))
		if err != nil {
			return
		}
		given, err := c.Given(noon)
		if err != nil {
			if field, ok := invalid.FieldOf(err); !ok || field == "" {
				t.Errorf("%q is wrong by no field: %v", text, err)
			}
			return
		}
		if !given.Until.After(given.From) || !given.Until.After(noon) {
			t.Errorf("%q holds from %v to %v", text, given.From, given.Until)
		}
		for _, at := range given.Times {
			if n, mass := at.Changes(); !(n >= 0 && mass >= n*0.999 && mass < 1e7) {
				t.Errorf("%+v is %v changes, and %v at random", at, n, mass)
			}
		}
		if read, ok, err := imported.ParseForecast(given.Memory()); err != nil || !ok || string(read.Memory()) != string(given.Memory()) {
			t.Errorf("%s is read as %s (%v)", given.Memory(), read.Memory(), err)
		}
	})
}
