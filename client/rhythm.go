package client

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A Rhythm is what was learnt of when a source changes. Hours, days and minutes are those
// of UTC.
type Rhythm struct {
	ID       freshet.SourceID `json:"id"`
	Rate     Rate             `json:"rate_per_day" doc:"How often it changes a day, over all hours: as in why"`
	PerDay   float64          `json:"changes_per_day,omitempty" deprecated:"true" doc:"Use rate_per_day"`
	Low      float64          `json:"changes_per_day_low,omitempty" deprecated:"true" doc:"Use rate_per_day"`
	High     float64          `json:"changes_per_day_high,omitempty" deprecated:"true" doc:"Use rate_per_day"`
	Changes  float64          `json:"changes" doc:"Estimated number of changes; older observations count less"`
	Watched  Duration         `json:"watched" doc:"For how long it was watched; what is long past counts for less"`
	Taught   int              `json:"taught,omitempty" doc:"Imported changes that were also learned from"`
	Own      bool             `json:"own" doc:"The rhythm is the source's own, and not only that of its site"`
	Week     [][]float64      `json:"week" doc:"Changes expected in each hour of the week: seven days from Monday, each with its hours. Empty unless an estimate or a lower bound of the rate is known"`
	Hours    []RhythmBin      `json:"hours" doc:"By the hour of the day"`
	Weekdays []RhythmBin      `json:"weekdays" doc:"By the day of the week, from Monday"`
	Minutes  []RhythmBin      `json:"minutes,omitempty" doc:"By five minutes of the hour; missing if the resolution is too coarse"`
	Foretold *Foretold        `json:"foretold,omitempty" doc:"When the source announces that it changes next; missing if it does not"`
	Resting  *Resting         `json:"resting,omitempty" doc:"When a feed says that it is not updated; missing if it does not say"`
	Sentence string           `json:"sentence" doc:"The rhythm in words"`

	GivenChances *GivenChances `json:"chances,omitempty" doc:"The forecast that was set, if it is still valid: it counts in place of the rhythm, or with it"`
}

// A RhythmBin is one stretch of a day, a week or an hour.
type RhythmBin struct {
	Factor float64 `json:"factor" doc:"How many times as often as on average changes are expected"`
	Seen   float64 `json:"seen" doc:"Changes that polls saw in it"`
	Due    float64 `json:"due" doc:"Changes that polls were to see in it if all stretches were alike: how much it was watched"`
}

// Rhythm returns what was learnt of when a source changes.
func (r Sources) Rhythm(ctx context.Context, id freshet.SourceID) (Rhythm, error) {
	return get[Rhythm](ctx, r.c, r.sourcePath(id, "rhythm"), nil)
}

// In returns the week in a time zone: changes expected in each hour of seven days from
// Monday. Where the zone is half an hour off, the hours are those that are nearest.
func (r Rhythm) In(zone *time.Location, now time.Time) (week [7][24]float64) {
	_, offset := now.In(zone).Zone()
	shift := (offset + 30*60 + 7*24*3600) / 3600
	for day, hours := range r.Week {
		for i := range 24 {
			if len(hours) == 0 {
				continue
			}
			at := (day*24 + i + shift) % (7 * 24)
			week[at/24][at%24] += hours[i*len(hours)/24] * float64(len(hours)) / 24
		}
	}
	return week
}

// Words says the rhythm in a sentence, in a time zone.
func (r Rhythm) Words(zone *time.Location, now time.Time) string {
	switch {
	case r.Rate.IsKnown():
	case r.Rate.Known == "at_most":
		return join(fmt.Sprintf("It changes %s. Too few changes were seen to tell when.", r.Rate.Short()), r.sayForetold(zone, now), r.sayGiven(zone, now))
	case r.Watched == 0:
		return join("How often it changes is not known yet: it has not been watched for long.", r.sayForetold(zone, now), r.sayGiven(zone, now))
	default:
		return join(fmt.Sprintf("How often it changes is not known yet: polls have seen %s.", plural(math.Round(r.Changes), "change")), r.sayForetold(zone, now), r.sayGiven(zone, now))
	}
	said := "It changes " + r.Rate.Words
	week := r.In(zone, now)
	var days, hours []float64
	for _, d := range week {
		sum := 0.0
		for _, x := range d {
			sum += x
		}
		days = append(days, sum)
	}
	for h := range 24 {
		sum := 0.0
		for _, d := range week {
			sum += d[h]
		}
		hours = append(hours, sum)
	}
	if from, to, ok := stretch(hours); ok {
		said += fmt.Sprintf(", mostly between %d:00 and %d:00", from, to)
	}
	weekend, work := (days[5]+days[6])/2, (days[0]+days[1]+days[2]+days[3]+days[4])/5
	switch {
	case weekend < work/2:
		said += ", on weekdays"
	case work < weekend/2:
		said += ", at weekends"
	}
	if r.Rate.Known == "at_least" {
		said += ": every poll finds a change, so nobody can tell how many came in between"
	}
	return join(said+".", r.sayForetold(zone, now), r.sayGiven(zone, now))
}

// sayGiven says which forecast was set.
func (r Rhythm) sayGiven(zone *time.Location, now time.Time) string {
	return Why{At: now, GivenChances: r.GivenChances, Foretold: r.Foretold}.sayGiven(zone)
}

// stretch returns the hours, around midnight too, that hold most of what is expected, if
// they are at most half of the day.
func stretch(hours []float64) (from, to int, ok bool) {
	all := 0.0
	for _, x := range hours {
		all += x
	}
	const most = 0.8
	for length := 1; length <= len(hours)/2; length++ {
		best, at := 0.0, 0
		for start := range hours {
			sum := 0.0
			for i := range length {
				sum += hours[(start+i)%len(hours)]
			}
			if sum > best {
				best, at = sum, start
			}
		}
		if all > 0 && best >= most*all {
			return at, (at + length) % len(hours), true
		}
	}
	return 0, 0, false
}

// Most returns the largest value of a week.
func Most(week [7][24]float64) (most float64) {
	for _, day := range week {
		most = max(most, slices.Max(day[:]))
	}
	return most
}
