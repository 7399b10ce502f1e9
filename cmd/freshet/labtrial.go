package main

import (
	"context"
	"time"

	"freshet/lab"
)

// A trial is one replay and how it went.
type trial struct {
	Trace    string  `json:"trace"`
	Policy   string  `json:"policy"`
	Budget   float64 `json:"budget"` // polls an instant
	Life     string  `json:"life"`
	Urgency  string  `json:"urgency"`
	Estimate string  `json:"estimate"`
	Evidence string  `json:"evidence"`
	Seed     uint64  `json:"seed"`

	Start   string  `json:"start"`
	End     string  `json:"end"`
	Instant float64 `json:"instant_seconds"`

	lab.Score
	*trialLimit // nil if it was not asked for

	Calibration *calibrationFigures `json:"calibration,omitempty"` // nil if it was not asked for

	Recorded *recordedFigures `json:"recorded,omitempty"` // of a history that a daemon recorded
}

// A trialLimit holds a score against what was possible.
type trialLimit struct {
	Limit           float64 `json:"limit"`            // utility that no schedule can exceed
	LimitNormalized float64 `json:"limit_normalized"` // of the weight of all changes
	LimitExact      bool    `json:"limit_exact"`      // some schedule has it
	OfLimit         float64 `json:"utility_of_limit"` // share that was had
}

// try replays a trace under a policy.
func (l *labSetting) try(ctx context.Context, t *labTrace, policy string, budget float64, o lab.Options) (trial, error) {
	r := trial{
		Trace: t.file, Policy: policy, Budget: budget,
		Life: l.life.String(), Urgency: l.urgency.String(), Estimate: l.estimate.String(), Evidence: l.evidence.String(), Seed: l.seed,
		Start: t.grid.Start.Format(time.RFC3339), End: t.grid.Time(t.grid.Instants).Format(time.RFC3339),
		Instant: t.grid.Instant.Seconds(),
	}
	if t.recorded != nil {
		t.recorded.name(&r)
	}
	p, err := l.policy(t, policy, budget)
	if err != nil {
		return r, err
	}
	o.Budget, o.Stakes, o.Evidence = budget, t.stakes, l.evidence.Evidence
	replay := lab.Replay
	if t.recorded != nil {
		replay = t.recorded.Replay
	}
	r.Score, err = replay(ctx, t.grid, p, o)
	return r, flagFault(err)
}

// holdAgainst notes what share of a limit the trial reached.
func (r *trial) holdAgainst(most lab.Limit, weight float64) {
	r.trialLimit = &trialLimit{
		Limit: most.Value, LimitNormalized: share(most.Value, weight), LimitExact: most.Exact,
		OfLimit: share(r.Utility, most.Value),
	}
}
