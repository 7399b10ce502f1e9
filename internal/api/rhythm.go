package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

func (a *api) routeRhythm(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-rhythm", Method: http.MethodGet, Path: "/api/v1/sources/{id}/rhythm", Tags: []string{"sources"},
		Summary:     "Show when a source changes",
		Description: "What was learnt of its week, its day and its hour, in UTC, with what polls saw beside it.",
	}, a.getRhythm)
}

func (a *api) getRhythm(ctx context.Context, in *struct {
	ID string `path:"id" doc:"ID of the source"`
}) (*bodyOf[client.Rhythm], error) {
	r, err := a.Daemon.Rhythm(ctx, freshet.SourceID(in.ID))
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.Rhythm]{rhythmOf(freshet.SourceID(in.ID), r)}, nil
}

// rhythmOf tells a rhythm in the words of the API.
func rhythmOf(id freshet.SourceID, r freshet.Rhythm) client.Rhythm {
	const day = 24 * 60 * 60
	bins := func(of []freshet.RhythmBin) (list []client.RhythmBin) {
		for _, b := range of {
			list = append(list, client.RhythmBin{Factor: b.Factor, Seen: b.Seen, Due: b.Due})
		}
		return list
	}
	out := client.Rhythm{
		ID: id, PerDay: r.Rate.Mean * day, Low: r.Rate.Low * day, High: r.Rate.High * day,
		Changes: r.Happened, Watched: client.Duration(r.Watched * float64(time.Second)), Taught: r.Taught, Own: r.Own,
		Week: [][]float64{}, Hours: bins(r.Hours), Weekdays: bins(r.Weekdays), Minutes: bins(r.Minutes),
	}
	for _, w := range r.Weekdays {
		row := []float64{}
		for _, h := range r.Hours {
			row = append(row, r.Rate.Mean*day/float64(len(r.Hours))*w.Factor*h.Factor)
		}
		out.Week = append(out.Week, row)
	}
	out.Foretold, out.Resting = client.ForetoldOf(r.Foretold), client.RestingOf(r.Resting)
	out.Sentence = out.Words(time.UTC, time.Time{})
	return out
}
