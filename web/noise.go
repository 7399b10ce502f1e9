package web

import (
	"context"
	"errors"

	"freshet"
	"freshet/client"
	"freshet/noise"
)

// noiseOf returns what is known of the noise of a source; nil if there is none worth
// telling.
func (a *api) noiseOf(ctx context.Context, w freshet.Watched) (*client.Noise, error) {
	if w.Noise == freshet.NoiseOff {
		return nil, nil
	}
	belief, err := a.Store.Belief(ctx, freshet.NoiseBelief, w.ID)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m noise.Memory
	if m.UnmarshalBinary(belief.Memory) != nil {
		return nil, nil // it is learnt anew
	}
	m.Polled(w.Standing.Polls)
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
