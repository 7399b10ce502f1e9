package api

import (
	"context"
	"strings"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A noiseStore is what noise is found from.
type noiseStore interface {
	captureStore
	Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error)
}

// noiseOf returns where a source is noisy; nil if there is nothing worth telling. That
// is found out now, from its stored versions.
func noiseOf(ctx context.Context, store noiseStore, w freshet.SourceWithStatus) (*client.Noise, error) {
	if w.Noise == freshet.NoiseOff {
		return nil, nil
	}
	newest, err := store.Outcomes(ctx, freshet.OutcomeQuery{Source: w.ID, Newest: true, Limit: noise.Recalled})
	if err != nil || !noise.Restless(newest) {
		return nil, err
	}
	m := noise.Recall(newest, func(version int) ([]byte, error) { return store.Text(ctx, w.ID, version) })
	r := m.Report()
	locate(ctx, store, w, newest, r.Places)
	return NoiseOf(r), nil
}

// locatedIn is in how many versions the element of a place is looked for.
const locatedIn = 3

// locate finds the element that holds each place, so that the element can be left out. A line can
// only be recognized by its words, which may occur elsewhere too. It does so only for sources
// without steps: where a step would go into a chain is not known.
func locate(ctx context.Context, store noiseStore, w freshet.SourceWithStatus, newest []freshet.Outcome, places []noise.Place) {
	r := w.Recipe
	if r.Kind != reading.Auto && r.Kind != reading.HTML || r.CSS != "" || r.JSONPath != "" || len(r.Read) > 0 || len(places) == 0 {
		return
	}
	pages, seen := [][]byte(nil), 0
	for _, o := range newest {
		if !o.Result.Seen() || o.Version == seen || len(pages) == locatedIn {
			continue
		}
		v, err := store.Version(ctx, w.ID, o.Version)
		if err != nil || !strings.Contains(v.MediaType, "html") || rest.Hold(ctx, locateNeed*v.RawBytes) != nil {
			return
		}
		raw, err := store.Raw(ctx, w.ID, o.Version)
		if err != nil {
			return
		}
		pages, seen = append(pages, raw.Body), o.Version
	}
	for i, p := range places {
		if line := p.Matcher(); line != nil {
			if step, ok := extract.Locate(pages, line); ok {
				places[i].Step = step
			}
		}
	}
}

// locateNeed is how many bytes of memory a page takes at most for each of its own
// while an element is looked for.
const locateNeed = 20

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
