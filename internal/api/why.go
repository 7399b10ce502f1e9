package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

func (a *api) routeWhy(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-why", Method: http.MethodGet, Path: "/api/v1/sources/{id}/why", Tags: []string{"sources"},
		Summary:     "Explain the next poll of a source",
		Description: "What is thought of the source, what a poll of it would be worth, what holds it back, and when it is expected.",
	}, a.getWhy)
}

func (a *api) getWhy(ctx context.Context, in *struct {
	ID string `path:"id" doc:"ID of the source"`
}) (*bodyOf[client.Why], error) {
	w, err := a.Daemon.Why(ctx, freshet.SourceID(in.ID))
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.Why]{whyOf(w)}, nil
}

// whyOf tells an explanation in the words of the API.
func whyOf(w daemon.Why) client.Why {
	o, s := w.Outlook, w.Source
	why := client.Why{
		ID: s.ID, URL: freshet.MaskURL(s.URL), Name: s.Name, At: o.At.UTC(), LastSeen: utc(o.Since), Trouble: w.Trouble,
		Hold:  *holdOf(w.Hold),
		Asked: w.Hold.Asked, MaxGap: client.Duration(s.MaxGap), Deadline: utc(w.Hold.Deadline), Next: utc(w.Next),
		SharedWith: w.Mates,
	}
	if !w.Next.IsZero() {
		why.Cause = w.Cause.String()
	}
	if t := w.Hold.Strategy; t != nil {
		why.Strategy, why.Planned = t.Strategy().String(), utc(w.Hold.Planned)
	}
	if h := o.Heard; w.Index != "" {
		why.Heard = &client.Heard{Index: w.Index, Kind: h.Kind.String(), Changed: utc(h.Dated), Until: utc(h.Until), Right: h.Right, Times: h.Times}
	}
	why.Foretold, why.Resting = client.ForetoldOf(o.Foretold), client.RestingOf(o.Resting)
	if h := w.Hold; !h.Pushed.IsZero() {
		why.Pushed = &client.Pushed{At: utc(h.Pushed), Right: h.Push.Right, Times: h.Push.Times}
	}
	if o.Rate.Mean > 0 {
		why.Outlook = outlookOf(o, s.Life)
		if w.Hold.Kind == sched.HoldPaused { // nothing is due
			why.Outlook.Due = time.Time{}
		}
	}
	why.Taught = client.TaughtOf(w.Taught)
	if c := w.Chances; c != nil {
		why.GivenChances = client.GivenChancesOf(c.Chances, c.Used, o.At)
	}
	if s := w.Stake; s != nil {
		why.Stake = &client.Stake{Factor: s.Factor, Changes: s.Changes, Matched: s.Matched}
	}
	why.Sentence = why.Words(time.UTC)
	return why
}

// holdOf tells a hold in the words of the API.
func holdOf(h sched.Hold) *client.Hold {
	return &client.Hold{Kind: h.Kind.String(), Reason: h.String(), Until: utc(h.Until), Failures: h.Failures}
}

func outlookOf(o freshet.Outlook, life freshet.Life) *client.Outlook {
	const day = 24 * 60 * 60
	out := &client.Outlook{
		RatePerDay: client.Estimate{Mean: o.Rate.Mean * day, Low: o.Rate.Low * day, High: o.Rate.High * day},
		Expected:   o.Expected, Chance: o.Chance, Worth: o.Worth, Price: o.Price, Idle: o.Idle, Due: utc(o.Due),
		Captured: capturedOf(daemon.Group{Sources: 1, Waiting: o.Expected, Tally: o.Tally}),
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
