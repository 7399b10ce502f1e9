package web

import (
	"context"

	"freshet"
	"freshet/client"
	"freshet/noise"
)

// noiseOf returns where a source is noisy; nil if there is nothing worth telling. That
// is found out now, from its stored versions.
func (a *api) noiseOf(ctx context.Context, w freshet.Watched) (*client.Noise, error) {
	if w.Noise == freshet.NoiseOff {
		return nil, nil
	}
	newest, err := a.Store.Outcomes(ctx, freshet.OutcomeQuery{Source: w.ID, Newest: true, Limit: noise.Recalled})
	if err != nil || !noise.Restless(newest) {
		return nil, err
	}
	m := noise.Recall(newest, func(version int) ([]byte, error) { return a.Store.Text(ctx, w.ID, version) })
	return NoiseOf(m.Report()), nil
}

// NoiseOf returns a report of noise as the API tells it; nil if there is none.
func NoiseOf(r noise.Report) *client.Noise {
	if len(r.Places) == 0 {
		return nil
	}
	n := &client.Noise{Polls: r.Polls, Differ: r.Differed, Only: r.Noise, Places: []client.NoisePlace{}}
	for _, p := range r.Places {
		told := client.NoisePlace{Kind: p.Kind.String(), Pattern: p.Pattern, Times: p.Times, Noise: p.Noise}
		if p.Step.Name != "" {
			told.Step = p.Step
		}
		n.Places = append(n.Places, told)
	}
	return n
}
