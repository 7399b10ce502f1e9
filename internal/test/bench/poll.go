package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"freshet/internal/lab/synth"
	"freshet/internal/sched"
)

// A Poll measures polls a second and the CPU time of a poll, beside a bare loop.
type Poll struct {
	Plan    Plan
	Cases   []string      // of PollCases
	Length  time.Duration // of one round
	Polls   int64         // of one round, however long it takes; 0 means that Length counts
	Rounds  int
	Budget  sched.Budget
	Profile string                           // prefix of the files that profiles of the daemon are written to; "" means none
	Say     func(format string, args ...any) // prints progress
}

// A PollRate is what one side managed in one round.
type PollRate struct {
	PerSecond float64 `json:"polls_per_second"`
	CPU       float64 `json:"cpu_seconds_per_1000_polls"`
	Allocs    float64 `json:"allocations_per_poll"`
	Allocated float64 `json:"bytes_allocated_per_poll"`
	Written   float64 `json:"bytes_written_per_poll"`
	Syncs     float64 `json:"syncs_per_poll"`
}

// A PollResult holds a daemon against a bare loop on one kind of answer.
type PollResult struct {
	Answers string        `json:"answers"`
	Bare    PollRate      `json:"bare_loop"`
	Freshet PollRate      `json:"freshet"`
	Ratio   float64       `json:"cpu_ratio"`
	Rounds  [][2]PollRate `json:"rounds"` // bare loop and Freshet
}

// PollCases are the kinds of answers that can be measured, in order.
var PollCases = []string{"304", "same", "html", "json", "feed"}

// plan returns what is measured for a kind of answers.
func (b *Poll) plan(answers string) Plan {
	plan := b.Plan
	switch answers {
	case "304":
	case "same":
		plan.Bare = true
	default:
		plan.Changed, plan.Kind = 1, synth.BenchKind(answers)
	}
	return plan
}

// Run measures the cases.
func (b *Poll) Run(ctx context.Context) (results []PollResult, err error) {
	for _, answers := range b.Cases {
		r, err := b.measure(ctx, answers, b.plan(answers))
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
		if err := rig.rest(ctx); err != nil {
			return err
		}
		for i := range b.Rounds {
			b.Say("%s: round %d of %d", answers, i+1, b.Rounds)
			one, err := b.bareRound(ctx, rig.disk, bare)
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
	middle := func(of func(PollRate) float64) float64 {
		var values []float64
		for _, round := range r.Rounds {
			values = append(values, of(round[side]))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return PollRate{
		PerSecond: middle(func(p PollRate) float64 { return p.PerSecond }),
		CPU:       middle(func(p PollRate) float64 { return p.CPU }),
		Allocs:    middle(func(p PollRate) float64 { return p.Allocs }),
		Allocated: middle(func(p PollRate) float64 { return p.Allocated }),
		Written:   middle(func(p PollRate) float64 { return p.Written }),
		Syncs:     middle(func(p PollRate) float64 { return p.Syncs }),
	}
}

// A side is one of those that are measured.
type side struct {
	polls  func() int64 // made so far
	begin  func()       // starts polls
	finish func() error // ends them; what it does counts, but its time does not
}

// round measures a side.
func (b *Poll) round(ctx context.Context, disk *diskMeter, s side) (r PollRate, err error) {
	from, cpu, made := time.Now(), cpuTime(), s.polls()
	written, syncs := disk.writes.Load(), disk.syncs.Load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.begin()
	err = b.roundEnd(ctx, s.polls)
	took := time.Since(from)
	if err := errors.Join(err, s.finish()); err != nil {
		return r, err
	}
	used, n := cpuTime()-cpu, float64(s.polls()-made)
	runtime.ReadMemStats(&after)
	if n == 0 {
		return r, fmt.Errorf("not a single poll in %v", b.Length)
	}
	return PollRate{
		PerSecond: n / took.Seconds(), CPU: used.Seconds() / n * 1000,
		Allocs: float64(after.Mallocs-before.Mallocs) / n, Allocated: float64(after.TotalAlloc-before.TotalAlloc) / n,
		Written: float64(disk.writes.Load()-written) / n, Syncs: float64(disk.syncs.Load()-syncs) / n,
	}, nil
}

// roundEnd waits until a round that begins now has had its polls or its time.
func (b *Poll) roundEnd(ctx context.Context, polls func() int64) error {
	if b.Polls == 0 {
		return pause(ctx, b.Length)
	}
	// What this allocates counts as of the polls, and takes part in it by how slow the machine is: so it looks at times.
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for last := polls() + b.Polls; polls() < last; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
	return nil
}

// freshetRound opens the budget for a round. Each round writes its profile over
// that of the one before.
func (b *Poll) freshetRound(ctx context.Context, rig *rig, answers string) (r PollRate, err error) {
	file := ""
	if b.Profile != "" {
		file = b.Profile + "." + answers
	}
	polls := func() int64 { return rig.Daemon.Status().Polls }
	// The bare loop has seen other versions meanwhile: the first change of each page is
	// larger than those that follow.
	rig.spend(b.Budget)
	err = rig.until(ctx, polls()+int64(b.Plan.Sources))
	if err = errors.Join(err, rig.rest(ctx)); err != nil {
		return r, err
	}
	err = profiled(file, func() (err error) {
		r, err = b.round(ctx, rig.disk, side{polls, func() { rig.spend(b.Budget) }, func() error { return rig.rest(ctx) }})
		return err
	})
	return r, err
}

// bareRound runs the bare loop for a round. It asks for each page once before it is measured.
func (b *Poll) bareRound(ctx context.Context, disk *diskMeter, bare *bareLoop) (PollRate, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for w := range bare.workers {
		workers.Go(func() { bare.run(running, w) })
	}
	for first := bare.polls.Load(); bare.polls.Load()-first < int64(len(bare.urls)) && bare.failed.Load() == nil; {
		if err := pause(ctx, time.Millisecond); err != nil {
			return PollRate{}, err
		}
	}
	r, err := b.round(ctx, disk, side{bare.polls.Load, func() {}, func() error {
		stop()
		workers.Wait()
		return nil
	}})
	if failed := bare.failed.Load(); err == nil && failed != nil {
		err = fmt.Errorf("the bare loop: %w", *failed)
	}
	return r, err
}
