package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

func (a *api) routeFlow(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-flow", Method: http.MethodGet, Path: "/api/v1/flow", Tags: []string{"program"},
		Summary:     "Show changes and polls over the last hours",
		Description: "In stretches of ten minutes, the oldest first. How many changes were missed in each goes by the share that is captured on the whole.",
	}, a.getFlow)
}

type flowInput struct {
	Hours int `query:"hours" default:"24" minimum:"1" maximum:"24" doc:"How far back"`
}

const (
	flowStep = 10 * time.Minute
	flowSpan = 24 * time.Hour
	flowMost = 200_000 // outcomes that are counted for one look at most
)

func (a *api) getFlow(ctx context.Context, in *flowInput) (*bodyOf[client.Flow], error) {
	now := a.Now().UTC()
	known, err := a.flow.read(ctx, a.Store, now)
	if err != nil {
		return nil, err
	}
	lost := 0.0 // changes that are missed for each that is captured
	brief, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	if n, err := a.Daemon.Overall(brief); err == nil {
		if c := capturedOf(n.All); c.TooEarly == "" && c.Share.Mean > 0 {
			lost = 1/c.Share.Mean - 1
		}
	}
	f := client.Flow{Step: client.Duration(flowStep), Items: []client.Stretch{}}
	for at := now.Add(-time.Duration(in.Hours) * time.Hour).Truncate(flowStep).Add(flowStep); !at.After(now); at = at.Add(flowStep) {
		s := known[at]
		s.At, s.Missed = at, lost*float64(s.Changes)
		f.Items = append(f.Items, s)
	}
	return &bodyOf[client.Flow]{f}, nil
}

// A flow counts the outcomes of the last day. It is brought up to date when somebody
// looks, so it costs nothing while nobody does.
type flow struct {
	mu      sync.Mutex
	begun   bool
	at      freshet.Cursor // everything up to here is counted
	buckets map[time.Time]client.Stretch
}

// read counts what came since the last look, and returns a copy of the counts.
func (f *flow) read(ctx context.Context, log freshet.OutcomeLog, now time.Time) (map[time.Time]client.Stretch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := now.Add(-flowSpan)
	end, err := log.LastOutcome(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the log of outcomes: %w", err)
	}
	if !f.begun || end-f.at > flowMost { // nobody looked for long: only the last of it is counted
		f.begun, f.at, f.buckets = true, max(0, end-flowMost), map[time.Time]client.Stretch{}
	}
	counts, upto, err := log.CountOutcomes(ctx, f.at, oldest.Add(-flowStep), flowStep)
	if err != nil {
		return nil, fmt.Errorf("counting outcomes after %d: %w", f.at, err)
	}
	f.at = upto
	for _, c := range counts {
		s := f.buckets[c.At]
		s.Polls, s.Changes, s.Failed = s.Polls+c.Polls, s.Changes+c.Changed, s.Failed+c.Failed
		f.buckets[c.At] = s
	}
	recent := map[time.Time]client.Stretch{}
	for at, s := range f.buckets {
		if at.Before(oldest.Add(-flowStep)) {
			delete(f.buckets, at)
			continue
		}
		recent[at] = s
	}
	return recent, nil
}
