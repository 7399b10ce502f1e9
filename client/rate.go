package client

import (
	"fmt"

	"freshet/internal/learn/outlook"
	"freshet/internal/units"
)

// A Rate is how often a source changes, and what is known of that.
type Rate struct {
	Known string  `json:"known" enum:"unknown,at_least,at_most,estimated" doc:"What is known: unknown, as long as too few changes were seen; at_least, where every poll finds a change, so that nobody can tell how many came between; at_most, where hardly a change was seen in a long time; or an estimate"`
	Mean  float64 `json:"mean,omitempty" doc:"The estimate; missing if there is none"`
	Low   float64 `json:"low,omitempty" doc:"Nine times in ten it is expected above this; missing if no lower bound is known"`
	High  float64 `json:"high,omitempty" doc:"and below this; missing if no upper bound is known"`
	Words string  `json:"words" doc:"The same in words"`
}

// RateOf returns the changes a day of a rate, as the API tells it.
func RateOf(r outlook.Rate) Rate {
	day := units.Day.Seconds()
	rate := Rate{Known: r.Known.String()}
	switch r.Known {
	case outlook.Estimated:
		rate.Mean, rate.Low, rate.High = r.Mean*day, r.Low*day, r.High*day
	case outlook.AtLeast:
		rate.Low = r.Low * day
	case outlook.AtMost:
		rate.High = r.High * day
	}
	rate.Words = rate.words()
	return rate
}

// IsKnown reports whether there is an estimate, or at least a lower bound.
func (r Rate) IsKnown() bool { return r.Known == "estimated" || r.Known == "at_least" }

// Short says how often the source changes without the range.
func (r Rate) Short() string {
	switch r.Known {
	case "estimated":
		return "about " + oftenWords(r.Mean)
	case "at_least":
		return "at least " + oftenWords(r.Low)
	case "at_most":
		return "at most " + oftenWords(r.High)
	}
	return "not known yet"
}

func (r Rate) words() string {
	if r.Known != "estimated" || r.High < 1.1*r.Low {
		return r.Short()
	}
	_, unit := perUnit(r.Mean)
	return fmt.Sprintf("%s (%s to %s)", r.Short(), digits(inUnit(r.Low, unit)), digits(inUnit(r.High, unit)))
}
