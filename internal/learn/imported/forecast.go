// Package imported defines what users tell the learner: past update times (history) and the
// chances of coming changes, which override the learned forecast.
package imported

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// ForecastState is the key of the state that holds the forecast of a source.
const ForecastState = "chances"

const (
	// MaxChances is the largest number of times in a forecast.
	MaxChances = 10_000

	// ChanceWidth is the default length of the interval in which an expected change comes.
	ChanceWidth = time.Minute

	mostExpected = 1e6 // changes, in a stretch of time or a day
	longestHold  = 10 * 366 * units.Day
	lastYear     = 2200
)

// A Forecast states how likely a source is to change at coming times, as known to a user or
// computed by a program. While it holds it replaces, or adds to, the learned forecast. It
// expects changes at its times and at its rate, and none otherwise.
type Forecast struct {
	From  time.Time `json:"from,omitzero" doc:"From when on they hold; by default from the first of the times, or from now on"`
	Until time.Time `json:"until,omitzero" doc:"Until when they hold; by default until the last of the times is over"`

	// Rate is the expected number of changes a day beside those at the times; nil means none.
	Rate *float64 `json:"rate_per_day,omitempty" minimum:"0" doc:"Changes a day that are expected at any time; 0 means that none is expected but at the times"`

	// Add adds the forecast to the learned one instead of replacing it.
	Add bool `json:"add,omitempty" doc:"Add to what was learned instead of replacing it"`

	Times []Chance `json:"times,omitempty" nullable:"false" maxItems:"10000" doc:"When changes are expected"`
}

// A Chance states how likely a change is in an interval. Without a chance and an expected
// number it is certain.
type Chance struct {
	At       time.Time `json:"at" doc:"When, or from when on"`
	Until    time.Time `json:"until,omitzero" doc:"The latest that it comes, if it comes; by default a minute later. The same as at means at that very moment"`
	Chance   *float64  `json:"chance,omitempty" minimum:"0" maximum:"1" doc:"That there is a change; 1 if neither this nor expected is given"`
	Expected *float64  `json:"expected,omitempty" minimum:"0" doc:"How many changes there are, if there can be several"`
}

// End returns the end of the interval.
func (c Chance) End() time.Time {
	if c.Until.IsZero() {
		return c.At.Add(ChanceWidth)
	}
	return c.Until
}

// Changes returns how many changes are expected, and the number of changes at random
// that would be as likely to leave the source as it is.
func (c Chance) Changes() (n, mass float64) {
	if c.Expected != nil {
		return *c.Expected, *c.Expected
	}
	n = 1
	if c.Chance != nil {
		n = *c.Chance
	}
	return n, -math.Log1p(-min(surest, n))
}

// Likely returns the probability of at least one change.
func (c Chance) Likely() float64 {
	if c.Expected != nil {
		return -math.Expm1(-*c.Expected)
	}
	n, _ := c.Changes()
	return n
}

// surest is how sure a change is at most.
const surest = 0.999

// Given returns the chances as they hold if they are given now: in the order of time,
// with a beginning and an end. It says what is wrong with them.
func (c Forecast) Given(now time.Time) (Forecast, error) {
	if c.Rate == nil && len(c.Times) == 0 {
		return c, invalid.Errorf("times", "there are none, and no rate_per_day either")
	}
	if len(c.Times) > MaxChances {
		return c, invalid.Errorf("times", "there are %d; the most is %d", len(c.Times), MaxChances)
	}
	if c.Rate != nil && !(*c.Rate >= 0 && *c.Rate <= mostExpected) {
		return c, invalid.Errorf("rate_per_day", "%v is not a number of changes from 0 to %.0f", *c.Rate, mostExpected)
	}
	for i, at := range c.Times {
		if err := at.check(fmt.Sprintf("times[%d]", i)); err != nil {
			return c, err
		}
	}
	given := c
	given.Times = slices.Clone(c.Times)
	for i := range given.Times {
		at := &given.Times[i]
		at.At, at.Until = at.At.UTC(), at.Until.UTC()
	}
	slices.SortStableFunc(given.Times, func(a, b Chance) int { return a.At.Compare(b.At) })
	if given.From.IsZero() {
		given.From = now
		if len(given.Times) > 0 && given.Times[0].At.Before(now) {
			given.From = given.Times[0].At
		}
	}
	if given.Until.IsZero() {
		for _, at := range given.Times {
			given.Until = latest(given.Until, at.End())
		}
	}
	given.From, given.Until = given.From.UTC(), given.Until.UTC()
	return given, c.hold(now, given.From, given.Until)
}

// hold checks from when to when the chances hold.
func (c Forecast) hold(now, from, until time.Time) error {
	say := func(t time.Time) string { return t.Format(time.RFC3339) }
	switch {
	case until.IsZero():
		return invalid.Errorf("until", "is missing; a rate has to end some time")
	case from.Year() < 1970 || from.Year() > lastYear:
		return invalid.Errorf("from", "%s is not a time from 1970 to %d", say(from), lastYear)
	case !until.After(from):
		return invalid.Errorf("until", "%s is not after %s, when the chances begin to hold", say(until), say(from))
	case !until.After(now):
		return invalid.Errorf("until", "%s has passed: nothing is left of the chances", say(until))
	case until.Sub(from) > longestHold:
		return invalid.Errorf("until", "%s is too late; chances hold for at most %s", say(until), units.FormatDuration(longestHold))
	}
	for i, at := range c.Times {
		if at.At.Before(from) {
			return invalid.Errorf(fmt.Sprintf("times[%d].at", i), "%s is before %s, when the chances begin to hold", say(at.At), say(from))
		}
		if at.At.After(until) {
			return invalid.Errorf(fmt.Sprintf("times[%d].at", i), "%s is after %s, when the chances cease to hold", say(at.At), say(until))
		}
	}
	return nil
}

// check says what is wrong with a chance.
func (c Chance) check(field string) error {
	switch {
	case c.At.IsZero():
		return invalid.Errorf(field+".at", "is missing")
	case c.At.Year() < 1970 || c.At.Year() > lastYear:
		return invalid.Errorf(field+".at", "%s is not a time from 1970 to %d", c.At.Format(time.RFC3339), lastYear)
	case !c.Until.IsZero() && c.Until.Before(c.At):
		return invalid.Errorf(field+".until", "%s is before %s, when it begins", c.Until.Format(time.RFC3339), c.At.Format(time.RFC3339))
	case c.Until.Sub(c.At) > longestHold:
		return invalid.Errorf(field+".until", "%s is too late", c.Until.Format(time.RFC3339))
	case c.Chance != nil && c.Expected != nil:
		return invalid.Errorf(field+".expected", "is given together with chance; give one of them")
	case c.Chance != nil && !(*c.Chance >= 0 && *c.Chance <= 1):
		return invalid.Errorf(field+".chance", "%v is not a chance from 0 to 1", *c.Chance)
	case c.Expected != nil && !(*c.Expected >= 0 && *c.Expected <= mostExpected):
		return invalid.Errorf(field+".expected", "%v is not a number of changes from 0 to %.0f", *c.Expected, mostExpected)
	}
	return nil
}

// Shifted returns the forecast with all times moved by a duration.
func (c Forecast) Shifted(by time.Duration) Forecast {
	if by == 0 {
		return c
	}
	c.From, c.Until, c.Times = c.From.Add(by), c.Until.Add(by), slices.Clone(c.Times)
	for i := range c.Times {
		at := &c.Times[i]
		at.At, at.Until = at.At.Add(by), at.End().Add(by)
	}
	return c
}

// Next returns the first of the times that is not over at a moment, and whether there
// is one.
func (c Forecast) Next(now time.Time) (Chance, bool) {
	for _, at := range c.Times {
		if at.End().After(now) {
			return at, true
		}
	}
	return Chance{}, false
}

// ParseForecast reads what Memory returns. Nothing is read as nothing, and then there are
// none.
func ParseForecast(memory []byte) (c Forecast, given bool, err error) {
	if len(memory) == 0 {
		return c, false, nil
	}
	if err := json.Unmarshal(memory, &c); err != nil {
		return c, false, fmt.Errorf("read given chances: %w", err)
	}
	return c, true, nil
}

// Memory returns the forecast as it is stored.
func (c Forecast) Memory() []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // of numbers that were checked, and times
	}
	return text
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
