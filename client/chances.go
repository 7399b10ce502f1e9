package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// GivenChances are when a source is likely to change, by an imported forecast.
type GivenChances struct {
	From       time.Time `json:"from" doc:"From when on the chances hold"`
	Until      time.Time `json:"until" doc:"Until when they hold"`
	Times      int       `json:"times" doc:"How many times were given"`
	Next       time.Time `json:"next,omitzero" doc:"The first of the times that is not over; missing if all are"`
	Chance     float64   `json:"chance,omitempty" doc:"That there is a change then"`
	RatePerDay *float64  `json:"rate_per_day,omitempty" doc:"Changes a day that are expected at any time, if that was given"`
	Add        bool      `json:"add,omitempty" doc:"Add to what was learned instead of replacing it"`
	Used       bool      `json:"used" doc:"The policy uses them; auto and wic do"`
}

// GivenChancesOf returns the chances of an imported forecast as of now.
func GivenChancesOf(c imported.Forecast, used bool, now time.Time) *GivenChances {
	f := &GivenChances{From: c.From.UTC(), Until: c.Until.UTC(), Times: len(c.Times), RatePerDay: c.Rate, Add: c.Add, Used: used}
	if next, ok := c.Next(now); ok {
		f.Next, f.Chance = next.At.UTC(), next.Likely()
	}
	return f
}

// ChancesWords says in words when the source is likely to change by an imported forecast; "" if
// there is none.
func (w Why) ChancesWords(zone *time.Location) string { return w.sayGiven(zone) }

// ForetoldWords says in words when the source changes by its own word; "" if it does not say.
// Chances that hold come before it.
func (w Why) ForetoldWords(zone *time.Location) string { return w.sayForetold(zone) }

// sayGiven says when the source is likely to change by an imported forecast.
func (w Why) sayGiven(zone *time.Location) string {
	f := w.GivenChances
	if f == nil {
		return ""
	}
	verb := "Chances that were given for it hold"
	if f.From.After(w.At) {
		verb = fmt.Sprintf("Chances that were given for it hold from %s", w.clock(f.From, zone))
	}
	text := fmt.Sprintf("%s until %s", verb, w.clock(f.Until, zone))
	switch {
	case !f.Next.IsZero():
		text += fmt.Sprintf("; the next change is expected at %s (%s)", w.clock(f.Next, zone), fmt.Sprintf("%.0f%%", 100*f.Chance))
	case f.RatePerDay != nil && *f.RatePerDay > 0:
		text += fmt.Sprintf("; by them it changes about %s", oftenWords(*f.RatePerDay))
	default:
		text += "; no change is expected before that"
	}
	if f.Used && !f.Add && w.Foretold != nil {
		text += ". They come before what the source says itself"
	}
	if !f.Used {
		text += ", but the policy does not go by them"
	}
	return text + "."
}

// SetForecast replaces the forecast of a source: when it is likely to change. It returns the chances in the order of time, with when they hold.
func (r Sources) SetForecast(ctx context.Context, id freshet.SourceID, chances imported.Forecast) (given imported.Forecast, err error) {
	err = r.c.Call(ctx, http.MethodPut, r.sourcePath(id, "chances"), nil, chances, &given)
	return given, err
}

// Forecast returns the forecast of a source.
func (r Sources) Forecast(ctx context.Context, id freshet.SourceID) (imported.Forecast, error) {
	return get[imported.Forecast](ctx, r.c, r.sourcePath(id, "chances"), nil)
}

// ClearForecast removes the forecast of a source.
func (r Sources) ClearForecast(ctx context.Context, id freshet.SourceID) error {
	return r.c.Call(ctx, http.MethodDelete, r.sourcePath(id, "chances"), nil, nil, nil)
}
