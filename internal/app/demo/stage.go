package demo

import (
	"cmp"
	"context"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
)

// A Stage knows both sides of a demo: what the store says was captured and
// what the web says was there. It reads the store's logs as any client could.
type Stage struct {
	Web      *synth.Web
	Policy   string
	Budget   sched.Budget
	Delay    time.Duration // owed to every host
	Baseline int           // requests of the first look
	Started  time.Time     // when all of it began
	Began    time.Time     // when the clock started
	Course   Course

	store    freshet.Store
	every    time.Duration  // between two polls of the rival
	outcomes freshet.Cursor // read so far
	changes  freshet.Cursor // read so far
	captures []synth.Capture
	now      Scene // as of the last look
}

// Recent is how many captured changes a scene remembers.
const Recent = 50

// A Scene is how a demo stands at one moment.
type Scene struct {
	At     time.Time `json:"at"`
	Clock  float64   `json:"seconds"`
	Policy string    `json:"policy"`
	Budget string    `json:"budget"`
	Polls  int       `json:"polls"`
	Failed int       `json:"failed_polls"`

	Score Score `json:"score"` // of the policy
	Rival Score `json:"uniform_rival"`

	// Of late is the share that each captured of what was decided in the last
	// minute; absent if nothing was.
	OfLate      *float64 `json:"recall_last_minute,omitempty"`
	RivalOfLate *float64 `json:"uniform_rival_recall_last_minute,omitempty"`

	// FirstChange is how long after the start of the verb the first change was
	// captured; zero if none was yet.
	FirstChange float64 `json:"first_change_seconds,omitempty"`

	Manners Manners  `json:"manners"`
	Recent  []Change `json:"-"`                  // the newest first
	Fresh   []Change `json:"captured,omitempty"` // since the scene before, oldest first
	Final   bool     `json:"final,omitempty"`
}

// A Score is a synth.Score with what follows from it.
type Score struct {
	Changes   int     `json:"changes"`
	Captured  int     `json:"captured"`
	Missed    int     `json:"missed"`
	Pending   int     `json:"pending"`
	Recall    float64 `json:"recall"`
	MeanDelay float64 `json:"mean_delay_seconds"`
}

// Manners are how the daemon behaved, as the web saw it.
type Manners struct {
	Busiest   int     `json:"most_requests_in_a_minute"`
	Closest   float64 `json:"closest_requests_to_a_host_seconds"` // zero if no host was asked twice
	Unwelcome int     `json:"requests_before_retry_after"`
}

// A Change is a captured change.
type Change struct {
	At      time.Time        `json:"at"`
	Source  freshet.SourceID `json:"source"`
	Late    float64          `json:"delay_seconds"` // after it had happened
	Summary string           `json:"summary"`
}

// New returns the stage of a web that is watched into a store under limits. Its
// clock starts now; of the requests so far so many were those of a first look.
func New(store freshet.Store, w *synth.Web, policy string, limits sched.Limits, started time.Time, baseline int) *Stage {
	return &Stage{
		Web: w, Policy: policy, Budget: limits.Budget, Delay: limits.Hosts.Delay,
		Baseline: baseline, Started: started, Began: time.Now(),
		store: store, every: time.Duration(float64(time.Second) / limits.Budget.PerSecond()),
	}
}

// Look reads on in the logs and returns how things stand at now.
func (s *Stage) Look(ctx context.Context, now time.Time) (Scene, error) {
	next := Scene{
		At: now, Clock: now.Sub(s.Began).Seconds(), Policy: s.Policy, Budget: s.Budget.String(),
		Polls: s.now.Polls, Failed: s.now.Failed, FirstChange: s.now.FirstChange,
		Manners: s.manners(),
	}
	if err := s.readOutcomes(ctx, &next); err != nil {
		return next, err
	}
	if err := s.readChanges(ctx, &next); err != nil {
		return next, err
	}
	next.Recent = slices.Clone(next.Fresh)
	slices.Reverse(next.Recent)
	next.Recent = append(next.Recent, s.now.Recent...)
	next.Recent = next.Recent[:min(len(next.Recent), Recent)]
	next.Score = scoreOf(s.Web.Judge(s.captures, s.Began, now))
	next.Rival = scoreOf(s.Web.UniformRival(s.every, s.Began, now))
	s.Course.Add(next)
	if p, r, ok := s.Course.lately(len(s.Course.marks) - 1); ok {
		next.OfLate, next.RivalOfLate = &p, &r
	}
	s.now = next
	return next, nil
}

// readOutcomes counts polls and notes which editions were captured.
func (s *Stage) readOutcomes(ctx context.Context, next *Scene) error {
	outcomes, err := s.store.Outcomes(ctx, freshet.OutcomeQuery{After: s.outcomes})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		s.outcomes = o.Cursor
		if !o.Began.Before(s.Began) {
			next.Polls++
			if o.Result == freshet.Failed {
				next.Failed++
			}
		}
		if !o.Result.Captured() {
			continue
		}
		text, err := s.store.Text(ctx, o.Source, o.Version)
		if err != nil {
			return err
		}
		if edition, ok := synth.VersionIn(text); ok {
			s.captures = append(s.captures, synth.Capture{Page: o.Source, Version: edition, At: o.Ended})
		}
	}
	return nil
}

// readChanges notes the changes since the last look.
func (s *Stage) readChanges(ctx context.Context, next *Scene) error {
	changes, err := s.store.Changes(ctx, freshet.ChangeQuery{After: s.changes})
	if err != nil {
		return err
	}
	for _, c := range changes {
		s.changes = c.Cursor
		happened := s.Web.Changes(c.Source, s.Began, c.Before)
		if len(happened) == 0 {
			continue // from before the clock started: it does not count
		}
		if next.FirstChange == 0 {
			next.FirstChange = c.Before.Sub(s.Started).Seconds()
		}
		next.Fresh = append(next.Fresh, Change{
			At: c.Before, Source: c.Source, Summary: c.Summary,
			Late: c.Before.Sub(happened[len(happened)-1]).Seconds(),
		})
	}
	return nil
}

// manners judges the requests since the clock started. The first look was made
// in haste and by agreement.
func (s *Stage) manners() Manners {
	var m Manners
	last := map[string]time.Time{}
	requests := s.Web.Requests()[s.Baseline:]
	from := 0
	for i, r := range requests {
		for r.At.Sub(requests[from].At) >= time.Minute {
			from++
		}
		m.Busiest = max(m.Busiest, i-from+1)
		if before, ok := last[r.Host]; ok {
			gap := r.At.Sub(before).Seconds()
			m.Closest = min(cmp.Or(m.Closest, gap), gap)
		}
		last[r.Host] = r.At
	}
	m.Unwelcome = len(s.Web.Early())
	return m
}

// Decided reports whether there is anything to judge by yet.
func (s Score) Decided() bool { return s.Captured+s.Missed > 0 }

func scoreOf(s synth.Score) Score {
	return Score{
		Changes: s.Changes, Captured: s.Captured, Missed: s.Missed, Pending: s.Pending,
		Recall: s.Recall(), MeanDelay: s.MeanDelay().Seconds(),
	}
}
