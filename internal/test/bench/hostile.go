package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/hostile"
)

// A Hostile polls good sources alone, and then among hostile ones, to see whether the
// good ones suffer.
type Hostile struct {
	Plan   Plan // its Harm is among the sources in every second round
	Length time.Duration
	Rounds int
	Budget sched.Budget                     // for the good sources; the hostile ones bring their share of it
	Say    func(format string, args ...any) // prints progress
}

// Harm is done by servers that are hostile.
type Harm struct {
	Servers int
	Kind    string // how the names of their cases begin, such as "slow"; "" means all of them
}

// beasts returns the kinds of servers.
func (h Harm) beasts() []hostile.Beast {
	return slices.DeleteFunc(hostile.Beasts(), func(b hostile.Beast) bool { return !strings.HasPrefix(b.ID, h.Kind) })
}

// Check returns an error if there are no such servers.
func (h Harm) Check() error {
	if len(h.beasts()) == 0 {
		return fmt.Errorf("there are no hostile servers called %q", h.Kind)
	}
	return nil
}

// A HostileRound is how the good sources fared in one round.
type HostileRound struct {
	Polls    int     `json:"polls"` // of the good sources
	Failed   int     `json:"failed"`
	Unpolled int     `json:"unpolled"`             // good sources that were not polled twice
	Late     Late    `json:"late_seconds"`         // of polls after they were due
	RSS      float64 `json:"peak_rss_bytes"`       // of the daemon
	Harm     int     `json:"hostile_polls"`        // of the hostile ones
	Caught   int     `json:"hostile_failed"`       // of them, those that failed
	Held     float64 `json:"hostile_held_seconds"` // that hostile servers held workers, all together
}

// Late is how late polls were, in seconds.
type Late struct {
	Mean float64 `json:"mean"`
	P99  float64 `json:"p99"`
	Most float64 `json:"most"`
}

// A HostileResult compares the rounds: the medians of each kind.
type HostileResult struct {
	Alone  HostileRound `json:"alone"`
	Among  HostileRound `json:"among_hostile"`
	Ratio  float64      `json:"mean_late_ratio"` // among to alone
	RSS    float64      `json:"rss_ratio"`
	Period float64      `json:"period_seconds"` // between two polls of a good source
}

// Run lets the rounds take turns, so that other load on the machine affects both kinds.
func (b *Hostile) Run(ctx context.Context) (result HostileResult, err error) {
	var rounds [2][]HostileRound
	for i := range b.Rounds {
		for kind, harm := range []Harm{{}, b.Plan.Harm} {
			b.Say("round %d of %d, %d good sources and %d hostile ones", i+1, b.Rounds, b.Plan.Sources, harm.Servers)
			plan := b.Plan
			plan.Harm = harm
			r, err := b.round(ctx, plan)
			if err != nil {
				return result, err
			}
			rounds[kind] = append(rounds[kind], r)
		}
	}
	for _, list := range rounds {
		slices.SortFunc(list, func(a, b HostileRound) int { return int(1e6 * (a.Late.Mean - b.Late.Mean)) })
	}
	result.Alone, result.Among = rounds[0][len(rounds[0])/2], rounds[1][len(rounds[1])/2]
	result.Period = b.period().Seconds()
	// What is late by less than an instant of the daemon is not late.
	const instant = 0.1
	result.Ratio = max(result.Among.Late.Mean, instant) / max(result.Alone.Late.Mean, instant)
	result.RSS = result.Among.RSS / result.Alone.RSS
	return result, nil
}

// period returns how far apart two polls of a good source are.
func (b *Hostile) period() time.Duration {
	return time.Duration(float64(b.Plan.Sources) / b.Budget.PerSecond() * float64(time.Second))
}

// round runs a daemon of its own, and looks at its log afterwards.
func (b *Hostile) round(ctx context.Context, plan Plan) (r HostileRound, err error) {
	rig, err := plan.open(ctx)
	if err != nil {
		return r, err
	}
	defer func() {
		if e := rig.close(); err == nil {
			err = e
		}
	}()
	budget := b.Budget
	budget.Polls *= float64(plan.Sources+plan.Harm.Servers) / float64(plan.Sources)
	err = rig.work(ctx, func(ctx context.Context) error {
		forgetPeak()
		rig.spend(budget)
		if err := pause(ctx, b.Length); err != nil {
			return err
		}
		r.RSS = peakMemory()
		return b.tally(ctx, rig, time.Now(), &r)
	})
	return r, err
}

// tally goes through the log of outcomes. A good source is late by what has passed
// beyond a period since the poll before, at the end of the round as well.
func (b *Hostile) tally(ctx context.Context, rig *rig, end time.Time, r *HostileRound) error {
	const hasty = 100_000
	last := map[freshet.SourceID]time.Time{}
	var late []float64
	note := func(gap time.Duration) { late = append(late, max(0, (gap-b.period()).Seconds())) }
	var after freshet.Cursor
	for {
		list, err := rig.Store.Outcomes(ctx, freshet.OutcomeQuery{After: after, Limit: hasty})
		if err != nil {
			return fmt.Errorf("read the log of a round: %w", err)
		}
		for _, o := range list {
			after = o.Cursor
			if o.Source[0] == 'h' {
				r.harm(o)
				continue
			}
			r.Polls++
			if o.Result == freshet.Failed {
				r.Failed++
			}
			if before, seen := last[o.Source]; seen {
				note(o.Began.Sub(before))
			}
			last[o.Source] = o.Began
		}
		if len(list) < hasty {
			break
		}
	}
	for _, at := range last {
		note(end.Sub(at))
	}
	r.Unpolled = b.Plan.Sources - len(last)
	r.Late = lateOf(late)
	return nil
}

// harm counts a poll of a hostile source.
func (r *HostileRound) harm(o freshet.Outcome) {
	r.Harm++
	r.Held += o.Ended.Sub(o.Began).Seconds()
	if o.Result == freshet.Failed {
		r.Caught++
	}
}

// lateOf sums up how late polls were.
func lateOf(seconds []float64) (l Late) {
	if len(seconds) == 0 {
		return l
	}
	slices.Sort(seconds)
	for _, s := range seconds {
		l.Mean += s / float64(len(seconds))
	}
	l.P99, l.Most = seconds[len(seconds)*99/100], seconds[len(seconds)-1]
	return l
}
