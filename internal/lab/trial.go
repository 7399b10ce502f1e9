package lab

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn"
	"freshet/internal/learn/estimate"
	"freshet/internal/learn/imported"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
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

	// What polls met; nothing if those were the conditions of the papers.
	Continuous  bool    `json:"continuous,omitempty"`
	SourceGap   float64 `json:"source_gap_seconds,omitempty"`
	SourceShare float64 `json:"source_share,omitempty"`
	HostDelay   float64 `json:"host_delay_seconds,omitempty"`
	HostShare   float64 `json:"host_share,omitempty"`
	Workers     int     `json:"workers,omitempty"`
	Latency     float64 `json:"latency_seconds,omitempty"`
	Failing     float64 `json:"failing,omitempty"`      // share of polls that fail by chance
	Tick        float64 `json:"tick_seconds,omitempty"` // that a daemon would learn by

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
	Conditions
}

// newTrial returns a trial of a case that has not been made yet.
func newTrial(c *Case, policy string, budget float64) Trial {
	t := Trial{
		Trace: c.Trace, Policy: policy, Budget: budget,
		Life: c.Weights.Life.String(), Urgency: c.Weights.Urgency.String(),
		Start: c.Grid.Start.Format(time.RFC3339), End: c.Grid.Time(c.Grid.Instants).Format(time.RFC3339),
		Instant: c.Grid.Instant.Seconds(),
	}
	if c.Recorded != nil {
		c.Recorded.name(&t)
	}
	return t
}

// Try replays a case under a policy. Budget, weights, measures, evidence and conditions
// of the options are set here.
func (t Terms) Try(ctx context.Context, c *Case, name string, budget float64, o Options) (Trial, error) {
	r := newTrial(c, name, budget)
	r.Estimate, r.Evidence, r.Seed = t.Estimate.String(), t.Evidence.String(), t.Seed
	r.met(t.Conditions)
	at, err := t.Setting(name, c.Grid, budget)
	if err != nil {
		return r, err
	}
	if t.Continuous {
		r.Tick = at.Tick.Seconds()
	}
	p, err := policy.New(name, at)
	if err != nil {
		return r, err
	}
	if err := t.takesChances(p, name, o.Chances); err != nil {
		return r, err
	}
	o.Budget, o.Weights, o.Measures, o.Evidence, o.Conditions = budget, c.Weights, c.Measures, t.Evidence, t.Conditions
	if c.Recorded != nil {
		o = c.Recorded.options(c.Grid, o)
	}
	r.Score, err = Replay(ctx, c.Grid, p, o)
	return r, err
}

// takesChances says what is wrong with giving chances to a policy.
func (t Terms) takesChances(p freshet.Policy, name string, given map[freshet.SourceID]imported.Forecast) error {
	if len(given) == 0 {
		return nil
	}
	_, takes := p.(interface {
		OverrideForecast(freshet.Slot, *imported.Forecast)
	})
	if !takes {
		return invalid.Errorf("chances", "the policy %s does not go by chances; auto and wic do", name)
	}
	if _, auto := p.(*policy.Auto); !auto && t.Estimate.Name != "" && t.Estimate.Name != estimate.Forecast {
		return invalid.Errorf("chances", "the estimate %s goes by no others; use forecast", t.Estimate)
	}
	return nil
}

// met notes what polls meet.
func (t *Trial) met(c Conditions) {
	t.Continuous, t.Latency, t.Failing = c.Continuous, c.Latency.Seconds(), c.Failures.Share
	if c.Limits != nil {
		t.HostDelay, t.Workers = c.Limits.Hosts.Delay.Seconds(), c.Limits.Workers
		t.SourceGap, t.SourceShare, t.HostShare = c.Limits.SourceGap.Seconds(), c.Limits.SourceShare, c.Limits.Hosts.Share
	}
}

// Setting returns the setting of a policy in a trial.
func (t Terms) Setting(name string, g *Grid, budget float64) (policy.Setting, error) {
	return t.setting(name, g, len(g.pages), budget)
}

// setting is Setting for some of the pages.
func (t Terms) setting(name string, g *Grid, pages int, budget float64) (policy.Setting, error) {
	at := t.Conditions.Setting(name, g, pages, budget)
	at.Seed = t.Seed
	if t.Continuous {
		switch t.Estimate.Name {
		case "", estimate.Forecast:
		case "poisson":
			at.Estimator = &estimate.Poisson{}
		default:
			return at, invalid.Errorf("estimate", "%q goes by instants, and in continuous time there are none; use forecast or poisson", t.Estimate)
		}
		return at, nil
	}
	at.Scale = t.Scale
	if t.Estimate.Name == estimate.Forecast {
		at.Estimator = learn.New(at.Learning())
		return at, nil
	}
	var err error
	at.Estimator, err = t.Estimate.New(g.Truth(), t.Seed)
	return at, err
}

// Rate writes the budget in words.
func (t *Trial) Rate() string {
	if t.Budget == 1 {
		return "1 poll an instant"
	}
	return FormatNumber(t.Budget) + " polls an instant"
}

// instant returns how long an instant was.
func (t *Trial) instant() time.Duration {
	return time.Duration(math.Round(t.Instant * float64(time.Second)))
}

// HoldAgainst notes what share of a limit the trial reached, where all changes
// have a weight.
func (t *Trial) HoldAgainst(most Limit, weight float64) {
	t.TrialLimit = &TrialLimit{
		Limit: most.Value, LimitNormalized: Ratio(most.Value, weight, 1), LimitExact: most.Exact,
		OfLimit: Ratio(t.Utility, most.Value, 1),
	}
}

// Met says in words what polls met; "" if those were the conditions of the
// papers.
func (t *Trial) Met() string {
	var list []string
	add := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	seconds := func(x float64) string { return units.FormatDuration(time.Duration(x * float64(time.Second))) }
	add(t.Continuous, "continuous time, learning by %s", seconds(t.Tick))
	add(t.SourceGap > 0, "%s between polls of a page", seconds(t.SourceGap))
	add(t.SourceShare > 0 && t.SourceShare < 1, "at most %s of the budget for a page", units.FormatShare(t.SourceShare))
	add(t.HostDelay > 0, "%s between polls of a host", seconds(t.HostDelay))
	add(t.HostShare > 0 && t.HostShare < 1, "at most %s of the budget for a host", units.FormatShare(t.HostShare))
	add(t.Workers > 0, "at most %d polls at once", t.Workers)
	add(t.Latency > 0, "%s a poll", seconds(t.Latency))
	add(t.Failing > 0, "%s of polls fail", FormatPercent(t.Failing, 1))
	return strings.Join(list, ", ")
}
