package lab

import (
	"context"
	"fmt"
	"math"
	"time"

	"freshet"
	"freshet/learn"
	"freshet/sched"
)

// Options say how a policy is replayed.
type Options struct {
	// Budget is how many polls an instant brings. On a grid a fraction is a rate:
	// what is left over is carried, up to one instant's worth (at least one poll).
	Budget float64

	Stakes
	Measures

	// Evidence is how much of the truth a poll shows. It changes what a policy
	// can learn, not what is captured.
	Evidence Evidence

	// Continuous replays in continuous time, as the daemon runs: changes happen
	// when the history says, polls are spread over the instants, and the budget
	// binds over any stretch of time as long as an instant. Otherwise the policy
	// is asked at the end of every instant.
	Continuous bool

	// Limits are those of the daemon: delay of hosts, workers, back-off, and the
	// budget if it says more than so many polls an instant. Nil means that
	// neither hosts nor workers bind.
	Limits *sched.Limits

	Latency  time.Duration // how long a poll takes; on a grid, to the end of an instant
	Failures Failures      // beside those that the history tells of
	Unseen   bool          // no page counts as seen at the start
	Edits    []Edit        // in order

	// Answer, if set, has the last word on how a poll ended.
	Answer func(p freshet.Poll, o *freshet.Outcome)

	// Learner, if set, learns from the polls beside the policy.
	Learner *learn.Learner

	// Observe, if set, is told of every outcome when its poll ends.
	Observe func(freshet.Outcome)

	// Look, if set, is shown every poll that saw its page: which page, at the
	// end of which instant, and whether it had changed.
	Look func(page, instant int, changed bool)

	// Progress, if set, is told when an instant begins.
	Progress func(instant int)

	dates  func(page int) bool // which pages show dates, if the evidence is Dated; nil means all
	absent func(page int) bool // which pages are not there at the start; nil means none
}

// Replay lets a policy poll its way through a grid, and scores what it
// captured. Unless the options say otherwise, the policy is asked at the end of
// every instant, from 1 to the last, and its polls take no time.
func Replay(ctx context.Context, g *Grid, p freshet.Policy, o Options) (Score, error) {
	if !(o.Budget >= 0) || o.Budget > 1e9 {
		return Score{}, &freshet.InvalidError{Field: "budget", Reason: fmt.Sprintf("%v is not a number of polls an instant", o.Budget)}
	}
	w := newWorld(g, &o)
	if o.Budget == 0 || g.Instants == 0 {
		return w.scorer.Score(), nil
	}
	var beside []freshet.Learner
	if o.Learner != nil {
		beside = append(beside, o.Learner)
	}
	s := sched.New(p, o.limits(g), beside...)
	standing := freshet.Standing{Seen: g.Start}
	if o.Unseen {
		standing = freshet.Standing{}
	}
	for page := range g.pages {
		if o.absent == nil || !o.absent(page) {
			s.Put(g.Start, freshet.Watched{Source: o.Stakes.source(g, page), Standing: standing})
		}
	}
	if o.Evidence == Dated && o.dates == nil && !o.Unseen {
		w.showDates(s)
	}
	if o.Progress != nil {
		o.Progress(max(1, w.instant))
	}
	if err := sched.Run(ctx, s, w); err != nil {
		return Score{}, fmt.Errorf("replaying: %w", err)
	}
	return w.scorer.Score(), nil
}

// showDates shows the dates of all pages at the start, in the look that they
// count as having had.
func (w *world) showDates(s *sched.Scheduler) {
	for page, id := range w.grid.pages {
		if date := w.truth.date(page); !date.IsZero() {
			s.Observe(w.grid.Start, freshet.Outcome{Source: id, Began: w.grid.Start, Ended: w.grid.Start, Result: freshet.First, Version: 1, Modified: date})
		}
	}
}

// limits returns what binds in a replay.
func (o *Options) limits(g *Grid) sched.Limits {
	const all = math.MaxInt32
	l := sched.Limits{Workers: all, Hosts: sched.Politeness{Concurrency: all}}
	if o.Limits != nil {
		l = *o.Limits
	}
	switch {
	case l.Budget.Polls > 0:
	case o.Continuous:
		l.Budget = sched.Budget{Polls: o.Budget, Per: g.Instant}
	default:
		l.Budget = byInstants(o.Budget, g)
	}
	return l
}

// byInstants returns a budget that binds by the instant alone: its stretch is
// longer than the whole grid, by a power of two so that a whole budget comes out
// whole.
func byInstants(budget float64, g *Grid) sched.Budget {
	stretch := 1
	for stretch <= g.Instants+1 && int64(stretch) < math.MaxInt64/int64(g.Instant)/4 {
		stretch *= 2
	}
	return sched.Budget{Polls: budget * float64(stretch), Per: time.Duration(stretch) * g.Instant, Instant: g.Instant}
}
