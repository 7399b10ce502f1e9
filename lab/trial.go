package lab

import (
	"context"
	"math"
	"time"

	"freshet"
	"freshet/estimate"
	"freshet/policy"
	"freshet/rival"
)

// A Trial is one replay and how it went.
type Trial struct {
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

	Score
	*TrialLimit // nil if it was not asked for

	Calibration *CalibrationFigures `json:"calibration,omitempty"` // nil if it was not asked for

	Recorded *RecordedFigures `json:"recorded,omitempty"` // of a history that a daemon recorded
}

// A TrialLimit holds a score against what was possible.
type TrialLimit struct {
	Limit           float64 `json:"limit"`            // utility that no schedule can exceed
	LimitNormalized float64 `json:"limit_normalized"` // of the weight of all changes
	LimitExact      bool    `json:"limit_exact"`      // some schedule has it
	OfLimit         float64 `json:"utility_of_limit"` // share that was had
}

// Terms say how trials are made, apart from the policy and its budget.
type Terms struct {
	Estimate estimate.Spec // who tells a policy that asks how likely changes are
	Evidence Evidence
	Seed     uint64
	Scale    bool // fit the intervals of policies that have some to the instant
}

// newTrial returns a trial of a case that has not been made yet.
func newTrial(c *Case, policy string, budget float64) Trial {
	t := Trial{
		Trace: c.Trace, Policy: policy, Budget: budget,
		Life: c.Stakes.Life.String(), Urgency: c.Stakes.Urgency.String(),
		Start: c.Grid.Start.Format(time.RFC3339), End: c.Grid.Time(c.Grid.Instants).Format(time.RFC3339),
		Instant: c.Grid.Instant.Seconds(),
	}
	if c.Recorded != nil {
		c.Recorded.name(&t)
	}
	return t
}

// Try replays a case under a policy. Budget, stakes and evidence of the options
// are set here.
func (t Terms) Try(ctx context.Context, c *Case, policy string, budget float64, o Options) (Trial, error) {
	r := newTrial(c, policy, budget)
	r.Estimate, r.Evidence, r.Seed = t.Estimate.String(), t.Evidence.String(), t.Seed
	p, err := t.policy(c.Grid, policy, budget)
	if err != nil {
		return r, err
	}
	o.Budget, o.Stakes, o.Evidence = budget, c.Stakes, t.Evidence
	replay := Replay
	if c.Recorded != nil {
		replay = c.Recorded.Replay
	}
	r.Score, err = replay(ctx, c.Grid, p, o)
	return r, err
}

// policy returns a new policy for a replay.
func (t Terms) policy(g *Grid, name string, budget float64) (freshet.Policy, error) {
	e, err := t.Estimate.New(g.Truth(), t.Seed)
	if err != nil {
		return nil, err
	}
	return rival.New(name, policy.Setting{
		Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages()), Estimator: e, Scale: t.Scale, Seed: t.Seed,
	})
}

// Rate writes the budget in words.
func (t *Trial) Rate() string {
	if t.Budget == 1 {
		return "1 poll an instant"
	}
	return polls(t.Budget) + " polls an instant"
}

// instant returns how long an instant was.
func (t *Trial) instant() time.Duration {
	return time.Duration(math.Round(t.Instant * float64(time.Second)))
}

// HoldAgainst notes what share of a limit the trial reached, where all changes
// have a weight.
func (t *Trial) HoldAgainst(most Limit, weight float64) {
	t.TrialLimit = &TrialLimit{
		Limit: most.Value, LimitNormalized: ratio(most.Value, weight, 1), LimitExact: most.Exact,
		OfLimit: ratio(t.Utility, most.Value, 1),
	}
}
