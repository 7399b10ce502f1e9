package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"freshet/internal/sched"
)

// A Poll measures polls a second and the CPU time of a poll, beside a bare loop.
type Poll struct {
	Plan    Plan
	Length  time.Duration // of one round
	Rounds  int
	Budget  sched.Budget
	Profile string                           // prefix of the files that profiles of the daemon are written to; "" means none
	Say     func(format string, args ...any) // is told how far it is
}

// A PollRate is what one side managed in one round.
type PollRate struct {
	PerSecond float64 `json:"polls_per_second"`
	CPU       float64 `json:"cpu_seconds_per_1000_polls"`
}

// A PollResult holds a daemon against a bare loop on one kind of answer.
type PollResult struct {
	Answers string        `json:"answers"`
	Bare    PollRate      `json:"bare_loop"`
	Freshet PollRate      `json:"freshet"`
	Ratio   float64       `json:"cpu_ratio"`
	Rounds  [][2]PollRate `json:"rounds"` // bare loop and Freshet
}

// Run measures both kinds of answers.
func (b *Poll) Run(ctx context.Context) (results []PollResult, err error) {
	for _, kind := range []struct {
		answers string
		changed float64
	}{{"304", 0}, {"200, changed", 1}} {
		plan := b.Plan
		plan.Changed = kind.changed
		r, err := b.measure(ctx, kind.answers, plan)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// measure lets the bare loop and the daemon take turns.
func (b *Poll) measure(ctx context.Context, answers string, plan Plan) (result PollResult, err error) {
	rig, err := plan.open(ctx)
	if err != nil {
		return result, err
	}
	defer func() {
		if e := rig.close(); err == nil {
			err = e
		}
	}()
	result.Answers = answers
	bare := newBareLoop(plan, rig.origin.URLs)
	err = rig.work(ctx, func(ctx context.Context) error {
		rig.spend(b.Budget)
		if err := rig.until(ctx, int64(plan.Sources)); err != nil { // the first look, which is another kind of poll
			return err
		}
		rig.spend(closed)
		for i := range b.Rounds {
			b.Say("%s: round %d of %d", answers, i+1, b.Rounds)
			one, err := b.bareRound(ctx, bare)
			if err != nil {
				return err
			}
			two, err := b.freshetRound(ctx, rig, answers)
			if err != nil {
				return err
			}
			result.Rounds = append(result.Rounds, [2]PollRate{one, two})
		}
		return nil
	})
	result.Bare, result.Freshet = result.median(0), result.median(1)
	if result.Bare.CPU > 0 {
		result.Ratio = result.Freshet.CPU / result.Bare.CPU
	}
	return result, err
}

// median returns the middle of one side's rounds.
func (r PollResult) median(side int) (m PollRate) {
	if len(r.Rounds) == 0 {
		return m
	}
	var rates, cpu []float64
	for _, round := range r.Rounds {
		rates, cpu = append(rates, round[side].PerSecond), append(cpu, round[side].CPU)
	}
	slices.Sort(rates)
	slices.Sort(cpu)
	return PollRate{PerSecond: rates[len(rates)/2], CPU: cpu[len(cpu)/2]}
}

// settle is how long a side works before it is measured, so that neither its
// beginning nor what the other side left behind is counted.
const settle = 500 * time.Millisecond

// round measures a side that is at work; polls says how many it has made.
func (b *Poll) round(ctx context.Context, polls func() int64) (r PollRate, err error) {
	if err := pause(ctx, min(settle, b.Length)); err != nil {
		return r, err
	}
	from, cpu, made := time.Now(), cpuTime(), polls()
	if err := pause(ctx, b.Length); err != nil {
		return r, err
	}
	took, used, n := time.Since(from), cpuTime()-cpu, polls()-made
	if n == 0 {
		return r, fmt.Errorf("not a single poll in %v", b.Length)
	}
	return PollRate{PerSecond: float64(n) / took.Seconds(), CPU: used.Seconds() / float64(n) * 1000}, nil
}

// freshetRound opens the budget for a round. Each round writes its profile over
// that of the one before.
func (b *Poll) freshetRound(ctx context.Context, rig *rig, answers string) (r PollRate, err error) {
	file := ""
	if b.Profile != "" {
		file = b.Profile + "." + answers[:3]
	}
	rig.spend(b.Budget)
	// The bare loop has seen other versions meanwhile: the first change of each page is
	// larger than those that follow.
	if err := rig.until(ctx, rig.Daemon.Status().Polls+int64(b.Plan.Sources)); err != nil {
		return r, err
	}
	err = profiled(file, func() (err error) {
		r, err = b.round(ctx, func() int64 { return rig.Daemon.Status().Polls })
		return err
	})
	rig.spend(closed)
	for err == nil && rig.Daemon.Status().UnderWay > 0 {
		err = pause(ctx, time.Millisecond)
	}
	return r, err
}

func (b *Poll) bareRound(ctx context.Context, bare *bareLoop) (PollRate, error) {
	running, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for w := range bare.workers {
		workers.Go(func() { bare.run(running, w) })
	}
	r, err := b.round(ctx, bare.polls.Load)
	stop()
	workers.Wait()
	if failed := bare.failed.Load(); err == nil && failed != nil {
		err = fmt.Errorf("the bare loop: %w", *failed)
	}
	return r, err
}
