package bench

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A Brain measures what deciding costs: the scheduler, the policy and the learner that
// a daemon runs, in virtual time, with sources that are made up. There is no network
// and no store.
type Brain struct {
	Sources int
	PerHost int           // sources of one host
	PerDir  int           // sources of one directory; 0 means that a host has one
	Length  time.Duration // of virtual time, after each source has been polled once
	Rates   []sched.Budget
	Notes   int    // sources of which what was learnt is taken down at once, as a daemon does to save it; 0 means that nothing is
	Profile string // file that a profile is written to; "" means none
	Say     func(format string, args ...any)
}

// A BrainResult is what deciding cost at one rate.
type BrainResult struct {
	Sources   int     `json:"sources"`
	Rate      float64 `json:"rate"`             // polls a second that the budget allows
	Polls     int     `json:"polls"`            // made
	PerSecond float64 `json:"polls_per_second"` // of virtual time
	CPU       float64 `json:"cpu_us_per_poll"`
	Most      float64 `json:"polls_per_second_of_cpu"` // that one core could decide on
	Longest   float64 `json:"longest_turn_seconds"`    // CPU time of the loop from one thing that happens until it waits for the next
	Noted     int     `json:"sources_noted,omitempty"` // of which what was learnt was taken down
	Bytes     float64 `json:"bytes_per_source"`
	Peak      float64 `json:"peak_bytes"`        // most memory that the process held, from when it began to get ready; 0 if that is not known
	Setup     float64 `json:"setup_cpu_seconds"` // to put all sources and learn from a poll of each
}

// Run measures each rate in turn.
func (b *Brain) Run(ctx context.Context) (results []BrainResult, err error) {
	err = profiled(b.Profile, func() error {
		for _, rate := range b.Rates {
			r, err := b.measure(ctx, rate)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		return nil
	})
	return results, err
}

// measure makes a brain, lets it poll, and says what that took.
func (b *Brain) measure(ctx context.Context, rate sched.Budget) (r BrainResult, err error) {
	r.Sources, r.Rate = b.Sources, rate.PerSecond()
	runtime.LockOSThread() // whose CPU time tells how long a turn of the loop takes
	defer runtime.UnlockOSThread()
	debug.FreeOSMemory() // that of the rate before
	forgetPeak()
	before, began := heapInUse(), cpuTime()
	b.Say("%d sources at %.0f polls a second: getting ready", b.Sources, r.Rate)
	s, w, err := b.wake(ctx, rate)
	if err != nil {
		return r, err
	}
	w.notes.most = b.Notes
	runtime.GC()
	r.Setup = (cpuTime() - began).Seconds()
	b.Say("polling for %s of virtual time", units.FormatDuration(b.Length))
	cpu := cpuTime()
	if err := sched.Run(ctx, s, w); err != nil {
		return r, err
	}
	r.Polls, r.Longest, r.Noted = w.polls, w.longest.Seconds(), w.notes.sources
	r.PerSecond = float64(r.Polls) / b.Length.Seconds()
	if spent := (cpuTime() - cpu).Seconds(); r.Polls > 0 && spent > 0 {
		r.CPU, r.Most = 1e6*spent/float64(r.Polls), float64(r.Polls)/spent
	}
	r.Peak = peakMemory()
	r.Bytes = float64(heapInUse()-before) / float64(b.Sources)
	runtime.KeepAlive(s)
	return r, nil
}

// wake returns a scheduler that has learnt from one poll of each source, as after a
// start that went through the log, and the world that it is to poll in.
func (b *Brain) wake(ctx context.Context, rate sched.Budget) (*sched.Scheduler, *madeUp, error) {
	p, err := policy.New(policy.Default, policy.InDaemon(policy.Default, rate, b.Sources))
	if err != nil {
		return nil, nil, err
	}
	limits := sched.DefaultLimits()
	limits.Budget, limits.Workers = rate, max(limits.Workers, int(rate.PerSecond()))
	s := sched.New(p, limits)
	w := newMadeUp(b.Length)
	w.notes.learner = p.(*policy.Auto).Learner()
	turn := time.Duration(float64(b.Sources) / rate.PerSecond() * float64(time.Second))
	for i := range b.Sources {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		at := w.now.Add(-turn + time.Duration(float64(turn)*float64(i)/float64(b.Sources)))
		s.Put(w.now, freshet.SourceWithStatus{Source: b.source(i), Status: freshet.Status{Begun: at.Add(-turn), Seen: at.Add(-turn)}})
	}
	for i := range b.Sources {
		at := w.now.Add(-turn + time.Duration(float64(turn)*float64(i)/float64(b.Sources)))
		s.Observe(w.now, w.outcome(i, at.Add(-turn), at, at))
	}
	return s, w, nil
}

// heapInUse returns how many bytes are in use once all garbage is gone.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
