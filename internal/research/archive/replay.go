package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// A Verdict says what the step to a version is.
type Verdict string

// The verdicts.
const (
	Change  Verdict = "change"  // it would be reported
	Noise   Verdict = "noise"   // it differs only in what differs at nearly every poll
	Same    Verdict = "same"    // it reads the same
	Suspect Verdict = "suspect" // it is probably not the page, or cannot be read
)

// A Step is what became of the step to a version. Step 1 leads from the first version
// to the second.
type Step struct {
	Step    int     `json:"step"`
	Verdict Verdict `json:"verdict"`

	// Where says where the noise is, and Differs whether the text differs at all.
	Where   []string `json:"-"`
	Differs bool     `json:"-"`
}

// A Replay is what became of a series.
type Replay struct {
	Name   string       `json:"name"`
	Steps  []Step       `json:"steps"`
	Report noise.Report `json:"-"`
}

// began is when the first version is polled. The others follow an hour apart: what is
// said does not depend on it, as long as it is regular.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A shelf is a fetcher that brings one version after the other.
type shelf struct{ version Version }

// Fetch brings the version that is on top.
func (s *shelf) Fetch(_ context.Context, r freshet.Request) (freshet.Response, error) {
	return freshet.Response{
		Status: http.StatusOK, URL: r.URL, MediaType: s.version.mediaType(), Body: s.version.Body, WireBytes: int64(len(s.version.Body)),
		Requests: 1, Header: http.Header{},
	}, nil
}

// Replay polls the versions of a series as a source of the store, which must not have
// one called like it, and says what became of each step. After each version it calls
// step.
func (s Series) Replay(ctx context.Context, store freshet.Store, setting freshet.NoiseSetting, step func()) (Replay, error) {
	r := Replay{Name: s.Name, Steps: []Step{}}
	source, err := store.AddSource(ctx, freshet.Source{URL: "http://series.invalid/" + s.Name, Noise: setting, Created: began})
	if err != nil {
		return r, err
	}
	desk := &shelf{}
	reader := replayer{store: store, source: source, worker: worker.New(desk, nil)}
	for k, v := range s.Versions {
		desk.version = v
		found, err := reader.poll(ctx, began.Add(time.Duration(k)*time.Hour))
		if err != nil {
			return r, fmt.Errorf("poll version %d of %s: %w", k, s.Name, err)
		}
		if step(); k > 0 {
			r.Steps = append(r.Steps, Step{Step: k, Verdict: verdict(found), Where: found.Judged.Where, Differs: found.Capture != nil})
		}
	}
	known, err := reader.noise(ctx)
	if err != nil {
		return r, err
	}
	var m noise.Memory
	if known != nil {
		err = m.UnmarshalBinary(known)
		m.Polled(int64(len(s.Versions)))
	}
	r.Report = m.Report()
	return r, err
}

// verdict returns what a look makes of the step to what it saw.
func verdict(f worker.Result) Verdict {
	switch {
	case !f.Result.Seen():
		return Suspect
	case f.Result == freshet.Changed || f.Result == freshet.First:
		return Change
	case f.Capture != nil:
		return Noise
	}
	return Same
}

// A replayer makes the polls of one source as the daemon does: they are recorded, a worker
// looks, and its results are recorded.
type replayer struct {
	store  freshet.Store
	source freshet.Source
	worker *worker.Worker
	since  time.Time
}

func (r *replayer) poll(ctx context.Context, at time.Time) (worker.Result, error) {
	p := freshet.Poll{Source: r.source, At: at, Since: r.since}
	head, err := r.store.Begin(ctx, p)
	if err != nil {
		return worker.Result{}, err
	}
	found := r.worker.Look(ctx, worker.Task{
		Source: r.source, Head: head, At: at,
		History: worker.StoredHistory(r.store, r.source.ID, head, nil, slog.New(slog.DiscardHandler)),
	})
	found.Took = 0 // a replay takes no time
	if found.Result.Seen() {
		r.since = at
	}
	_, _, err = r.store.Commit(ctx, found.Record(p, at))
	return found, err
}

// noise returns what is known of the noise of the source.
func (r *replayer) noise(ctx context.Context) ([]byte, error) {
	belief, err := r.store.State(ctx, freshet.NoiseState, r.source.ID)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, nil
	}
	return belief.Value, err
}
