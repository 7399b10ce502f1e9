package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"freshet"
	"freshet/sched"
	"freshet/sqlite"
	"freshet/synth"
)

// A demoStage knows both sides of a demo: what the store says was captured and
// what the web says was there. It reads the store's logs as any client could.
type demoStage struct {
	store    *sqlite.Store
	web      *synth.Web
	policy   string
	limit    sched.Budget
	every    time.Duration // between two polls of the rival
	delay    time.Duration // owed to every host
	baseline int           // requests of the first look
	started  time.Time     // when the verb began
	began    time.Time     // when the clock started

	outcomes freshet.Cursor // read so far
	changes  freshet.Cursor // read so far
	captures []synth.Capture
	course   demoCourse
	now      demoScene // as of the last look
}

// demoRecent is how many captured changes a scene remembers.
const demoRecent = 50

// A demoScene is how a demo stands at one moment.
type demoScene struct {
	At     time.Time `json:"at"`
	Clock  float64   `json:"seconds"`
	Policy string    `json:"policy"`
	Budget string    `json:"budget"`
	Polls  int       `json:"polls"`
	Failed int       `json:"failed_polls"`

	Score demoScore `json:"score"` // of the policy
	Rival demoScore `json:"uniform_rival"`

	// Of late is the share that each captured of what was decided in the last
	// minute; absent if nothing was.
	OfLate      *float64 `json:"recall_last_minute,omitempty"`
	RivalOfLate *float64 `json:"uniform_rival_recall_last_minute,omitempty"`

	// FirstChange is how long after the start of the verb the first change was
	// captured; zero if none was yet.
	FirstChange float64 `json:"first_change_seconds,omitempty"`

	Manners demoManners  `json:"manners"`
	Recent  []demoChange `json:"-"`                  // the newest first
	Fresh   []demoChange `json:"captured,omitempty"` // since the scene before, oldest first
	Final   bool         `json:"final,omitempty"`
}

// A demoScore is a synth.Score with what follows from it.
type demoScore struct {
	Changes   int     `json:"changes"`
	Captured  int     `json:"captured"`
	Missed    int     `json:"missed"`
	Pending   int     `json:"pending"`
	Recall    float64 `json:"recall"`
	MeanDelay float64 `json:"mean_delay_seconds"`
}

// demoManners are how the daemon behaved, as the web saw it.
type demoManners struct {
	Busiest   int     `json:"most_requests_in_a_minute"`
	Closest   float64 `json:"closest_requests_to_a_host_seconds"` // zero if no host was asked twice
	Unwelcome int     `json:"requests_before_retry_after"`
}

// A demoChange is a captured change.
type demoChange struct {
	At      time.Time        `json:"at"`
	Source  freshet.SourceID `json:"source"`
	Late    float64          `json:"delay_seconds"` // after it had happened
	Summary string           `json:"summary"`
}

func (d *demo) newStage(baseline int) *demoStage {
	now := time.Now()
	return &demoStage{
		store: d.node.store, web: d.web,
		policy: d.policy, limit: d.limits.Budget, delay: d.limits.Hosts.Delay,
		every:    time.Duration(float64(time.Second) / d.limits.Budget.PerSecond()),
		baseline: baseline, started: d.started, began: now,
	}
}

// look reads on in the logs and returns how things stand at now.
func (s *demoStage) look(ctx context.Context, now time.Time) (demoScene, error) {
	next := demoScene{
		At: now, Clock: now.Sub(s.began).Seconds(), Policy: s.policy, Budget: s.limit.String(),
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
	next.Recent = next.Recent[:min(len(next.Recent), demoRecent)]
	next.Score = scoreOf(s.web.Tally(s.captures, s.began, now))
	next.Rival = scoreOf(s.web.UniformRival(s.every, s.began, now))
	s.course.add(next)
	if p, r, ok := s.course.lately(len(s.course.marks) - 1); ok {
		next.OfLate, next.RivalOfLate = &p, &r
	}
	s.now = next
	return next, nil
}

// readOutcomes counts polls and notes which editions were captured.
func (s *demoStage) readOutcomes(ctx context.Context, next *demoScene) error {
	outcomes, err := s.store.Outcomes(ctx, freshet.OutcomeQuery{After: s.outcomes})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		s.outcomes = o.Cursor
		if !o.Began.Before(s.began) {
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
func (s *demoStage) readChanges(ctx context.Context, next *demoScene) error {
	changes, err := s.store.Changes(ctx, freshet.ChangeQuery{After: s.changes})
	if err != nil {
		return err
	}
	for _, c := range changes {
		s.changes = c.Cursor
		happened := s.web.Changes(c.Source, s.began, c.Before)
		if len(happened) == 0 {
			continue // from before the clock started: it does not count
		}
		if next.FirstChange == 0 {
			next.FirstChange = c.Before.Sub(s.started).Seconds()
		}
		next.Fresh = append(next.Fresh, demoChange{
			At: c.Before, Source: c.Source, Summary: harmless(c.Summary),
			Late: c.Before.Sub(happened[len(happened)-1]).Seconds(),
		})
	}
	return nil
}

// manners judges the requests since the clock started. The first look was made
// in haste and by agreement.
func (s *demoStage) manners() demoManners {
	var m demoManners
	last := map[string]time.Time{}
	requests := s.web.Requests()[s.baseline:]
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
	m.Unwelcome = len(s.web.Early())
	return m
}

// decided reports whether there is anything to judge by yet.
func (s demoScore) decided() bool { return s.Captured+s.Missed > 0 }

// recall says which share of the decided changes was captured.
func (s demoScore) recall() string {
	if !s.decided() {
		return "--"
	}
	return fmt.Sprintf("%.0f%%", 100*s.Recall)
}

func scoreOf(s synth.Score) demoScore {
	return demoScore{
		Changes: s.Changes, Captured: s.Captured, Missed: s.Missed, Pending: s.Pending,
		Recall: s.Recall(), MeanDelay: s.MeanDelay().Seconds(),
	}
}
