package lab_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet/timetable"
	"freshet/internal/lab"
	"freshet/internal/learn/imported"
	planner "freshet/internal/sched/cyclic"
	"freshet/internal/units"
)

var monday = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// at returns changes at minutes of every period for some periods, each known to within a
// width.
func at(every time.Duration, periods int, width time.Duration, minutes ...int) (updates []imported.UpdateTime) {
	for k := range periods {
		for _, minute := range minutes {
			until := monday.Add(time.Duration(k)*every + time.Duration(minute)*time.Minute + 30*time.Second)
			updates = append(updates, imported.UpdateTime{After: until.Add(-width), Until: until})
		}
	}
	return updates
}

func chronicle(t *testing.T, updates []imported.UpdateTime, every timetable.Period, zone string) *lab.Chronicle {
	c, err := lab.NewChronicle(updates, lab.StrategyRequest{Every: every, Zone: zone, Method: planner.Optimal})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Times are those of the clock of the zone, and a poll comes at the end of the minute in
// which the change does. What a plan promises is measured on history that it has not seen,
// if there is enough.
func TestPlanOfAChronicle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		updates []imported.UpdateTime
		every   timetable.Period
		zone    string
		polls   int
		want    string
		heldOut bool
		planned float64
	}{
		{"by the hour", at(time.Hour, 48, 0, 4, 14), timetable.EveryHour, "", 2, "hour {5, 15}", true, 1},
		{"the last minute ends with the hour", at(time.Hour, 48, 0, 59), timetable.EveryHour, "", 1, "hour {0}", true, 1},
		{"half an hour off", at(time.Hour, 48, 0, 4), timetable.EveryHour, "Asia/Kolkata", 1, "hour {35} Asia/Kolkata", true, 1},
		{"by the day", at(units.Day, 40, 0, 270, 720), timetable.EveryDay, "Europe/Berlin", 2, "day {06:31, 14:01} Europe/Berlin", true, 1},
		{"by the week", at(7*units.Day, 20, 0, 540, 3*1440+1050), timetable.EveryWeek, "", 2, "week {mon 09:01, thu 17:31}", true, 1},
		{"little history", at(time.Hour, 5, 0, 4, 14), timetable.EveryHour, "", 2, "hour {5, 15}", false, 1},
		{"one poll for two changes", at(time.Hour, 48, 0, 4, 14), timetable.EveryHour, "", 1, "hour {5}", true, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			slices.Reverse(tt.updates) // whatever their order
			p, err := chronicle(t, append(tt.updates, tt.updates[:3]...), tt.every, tt.zone).Plan(tt.polls, timetable.Strategy{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Strategy.String() != tt.want || p.HeldOut != tt.heldOut || math.Abs(p.Planned-tt.planned) > 0.05 || p.Changes != len(tt.updates) {
				t.Errorf("the plan is %s (%+v), want %s", p.Strategy, p, tt.want)
			}
		})
	}
}

// Where polls at equal distances would lose half, and a strategy in force loses all but
// one, that is said.
func TestPlanNextToOthers(t *testing.T) {
	inForce, err := timetable.Parse("day {12:00}")
	if err != nil {
		t.Fatal(err)
	}
	p, err := chronicle(t, at(time.Hour, 240, 0, 4, 14), timetable.EveryHour, "").Plan(2, inForce)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.Uniform-2.0/3) > 0.01 || p.InForce > 0.05 {
		t.Errorf("polls at equal distances capture %.3f, and those in force %.3f", p.Uniform, p.InForce)
	}
}

// Changes of which only a window is known are planned for wherever in it they were: the
// poll comes towards its end.
func TestPlanFromUncertainTimes(t *testing.T) {
	p, err := chronicle(t, at(time.Hour, 200, 10*time.Minute, 14, 44), timetable.EveryHour, "").Plan(2, timetable.Strategy{})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range p.Strategy.Minutes {
		if first := 5 + 30*i; m < first || m > first+40 {
			t.Errorf("the plan is %s", p.Strategy)
		}
	}
	if p.Width != 10*time.Minute || p.Planned < 0.99 {
		t.Errorf("the plan is %+v", p)
	}
}

// A change between two polls is dated by what the source announces, as often as that has been right:
// so the poll comes in the minute of the announced time, and not at the end of the window.
func TestPlanFromAnnouncedTimes(t *testing.T) {
	updates := at(time.Hour, 200, 25*time.Minute, 14, 44)
	for _, tt := range []struct {
		name      string
		announced lab.Announced
		want      string // "" means that no minute is given away
	}{
		{"nothing", lab.Announced{}, ""},
		{"every half hour", lab.Announced{At: monday.Add(5 * time.Minute), Every: 30 * time.Minute, Right: 1}, "hour {6, 36}"},
		{"a time to come", lab.Announced{At: monday.Add(900*time.Hour + 65*time.Minute), Every: 30 * time.Minute, Right: 1}, "hour {6, 36}"},
		{"more often than it was polled", lab.Announced{At: monday, Every: 5 * time.Minute, Right: 1}, ""},
		{"never right", lab.Announced{At: monday.Add(5 * time.Minute), Every: 30 * time.Minute}, ""},
		{"between the windows", lab.Announced{At: monday.Add(17 * time.Minute), Every: 30 * time.Minute, Right: 1}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := lab.NewChronicle(updates, lab.StrategyRequest{Every: timetable.EveryHour, Method: planner.Optimal, Announced: tt.announced})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Plan(2, timetable.Strategy{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Strategy.String(); tt.want != "" && got != tt.want || tt.want == "" && got == "hour {6, 36}" {
				t.Errorf("the plan is %s, want %q", got, tt.want)
			}
		})
	}
}

// Polls go where they save most, and nowhere if they save nothing.
func TestShareStrategies(t *testing.T) {
	one := chronicle(t, at(time.Hour, 100, 0, 4), timetable.EveryHour, "")
	two := chronicle(t, at(time.Hour, 100, 0, 4, 24), timetable.EveryHour, "")
	none := chronicle(t, nil, timetable.EveryHour, "")
	for _, tt := range []struct {
		polls   int
		weights []float64
		want    string
	}{
		{1, []float64{3, 1, 1}, "[1 0 0]"}, {3, []float64{1, 1, 1}, "[1 2 0]"}, {9, []float64{1, 1, 1}, "[1 2 0]"}, {2, []float64{1, 5, 1}, "[0 2 0]"},
	} {
		if got := fmt.Sprint(lab.ShareStrategies([]*lab.Chronicle{one, two, none}, tt.weights, tt.polls)); got != tt.want {
			t.Errorf("%d polls with weights %v are shared as %s, want %s", tt.polls, tt.weights, got, tt.want)
		}
	}
}
