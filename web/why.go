package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/live"
	"freshet/sched"
)

// A Why explains the next poll of a source, as the API tells it.
type Why struct {
	ID       freshet.SourceID `json:"id"`
	URL      string           `json:"url"`
	Name     string           `json:"name,omitempty"`
	At       time.Time        `json:"at" doc:"The moment of which all of this speaks"`
	Sentence string           `json:"sentence" doc:"All of it in words"`
	LastSeen time.Time        `json:"last_seen,omitzero" doc:"Missing if never"`
	Outlook  *Outlook         `json:"outlook,omitempty" doc:"What the policy thinks of the source; missing if it does not say"`
	Hold     Hold             `json:"hold" doc:"What holds the poll back, apart from what it is worth"`
	Asked    bool             `json:"asked,omitempty" doc:"Somebody asked for a poll"`
	MaxGap   Duration         `json:"max_gap,omitzero"`
	Deadline time.Time        `json:"deadline,omitzero" doc:"When max_gap runs out"`
	Next     time.Time        `json:"next,omitzero" doc:"When the poll is expected; missing if that cannot be told"`
	Cause    string           `json:"cause,omitempty" enum:"policy,bound,hand" doc:"Who is expected to want it then"`
	Trouble  string           `json:"trouble,omitempty" doc:"Why nothing can be captured at all, if nothing can"`
}

// An Outlook is what is thought of a source.
type Outlook struct {
	RatePerDay    Estimate  `json:"rate_per_day" doc:"Changes a day, at the rate of this hour"`
	Expected      float64   `json:"expected" doc:"Changes since it was last seen"`
	Chance        float64   `json:"chance" doc:"That there was at least one"`
	LostPerDay    float64   `json:"lost_per_day,omitempty" doc:"What waiting costs: changes a day that are replaced before they are seen"`
	DelayedPerDay float64   `json:"delayed_per_day,omitempty" doc:"What waiting costs where nothing is replaced: days of delay a day, over all changes that wait"`
	Worth         float64   `json:"worth,omitempty" doc:"Of a poll now, for its cost"`
	Price         float64   `json:"price,omitempty" doc:"What a poll must be worth to be made under the present budget; missing if not known"`
	Due           time.Time `json:"due,omitzero" doc:"When the worth is expected to reach the price; missing if that is not in sight"`
	Captured      Captured  `json:"captured" doc:"What became of its changes until now"`
}

// A Hold is what holds a poll back.
type Hold struct {
	Kind     string    `json:"kind" enum:"none,under_way,paused,backoff,min_gap,host_busy,host_delay,host_away,host_failing,workers,budget"`
	Reason   string    `json:"reason" doc:"The same in words"`
	Until    time.Time `json:"until,omitzero" doc:"Missing if time alone does not end it"`
	Failures int       `json:"failures,omitempty" doc:"Running, of the source or its host, if they are why"`
}

func (a *api) routeWhy(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-why", Method: http.MethodGet, Path: "/api/v1/sources/{id}/why", Tags: []string{"sources"},
		Summary:     "Explain the next poll of a source",
		Description: "What is thought of the source, what a poll of it would be worth, what holds it back, and when it is expected.",
	}, a.getWhy)
}

func (a *api) getWhy(ctx context.Context, in *struct {
	ID string `path:"id"`
}) (*bodyOf[Why], error) {
	w, err := a.Daemon.Why(ctx, freshet.SourceID(in.ID))
	if err != nil {
		return nil, err
	}
	return &bodyOf[Why]{whyOf(w)}, nil
}

// whyOf tells an explanation in the words of the API.
func whyOf(w live.Why) Why {
	o, s := w.Outlook, w.Source
	why := Why{
		ID: s.ID, URL: s.URL, Name: s.Name, At: o.At.UTC(), LastSeen: utc(o.Since), Trouble: w.Trouble,
		Hold:  Hold{Kind: w.Hold.Kind.String(), Reason: w.Hold.String(), Until: utc(w.Hold.Until), Failures: w.Hold.Failures},
		Asked: w.Hold.Asked, MaxGap: Duration(s.MaxGap), Deadline: utc(w.Hold.Deadline), Next: utc(w.Next),
	}
	if !w.Next.IsZero() {
		why.Cause = w.Cause.String()
	}
	if o.Rate.Mean > 0 {
		why.Outlook = outlookOf(o, s.Life)
		if w.Hold.Kind == sched.HoldPaused { // nothing is due
			why.Outlook.Due = time.Time{}
		}
	}
	why.Sentence = why.Words(time.UTC)
	return why
}

func outlookOf(o freshet.Outlook, life freshet.Life) *Outlook {
	const day = 24 * 60 * 60
	out := &Outlook{
		RatePerDay: Estimate{o.Rate.Mean * day, o.Rate.Low * day, o.Rate.High * day},
		Expected:   o.Expected, Chance: o.Chance, Worth: o.Worth, Price: o.Price, Due: utc(o.Due),
		Captured: capturedOf(live.Group{Sources: 1, Waiting: o.Expected, Tally: o.Tally}),
	}
	switch {
	case o.Since.IsZero():
		out.Worth = 0 // a first look is beyond price
		out.Captured.Unseen = 1
	case life.Kind == freshet.LifeOverwrite:
		out.LostPerDay = out.RatePerDay.Mean * o.Chance // the next one replaces what waits
	case life.Kind == freshet.LifeAppend:
		out.DelayedPerDay = o.Expected
	}
	return out
}
