package daemon

import (
	"context"
	"log/slog"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
)

// A relearner has the learner divide time as the present sources and budget ask for. The
// length of a tick follows from both; a learner with another tick is what a start would
// make: it goes through the log again, beside the polls, a slice at a time.
type relearner struct {
	store    freshet.Store
	loop     *loop
	leader   *leader
	limits   *limits
	learner  *learn.Learner                                      // nil if nothing is learnt
	learning func(sources int, budget sched.Budget) learn.Config // nil if ticks stay as they are
	keep     *checkpointer
	log      *slog.Logger
}

const (
	relearnEvery = 5 * time.Second // between two comparisons of the tick
	relearnRest  = 20              // a rest takes so many times as long as the relearning before it
	relearnRetry = 50 * time.Millisecond

	// How much is done in the loop at once; each takes some milliseconds.
	relearnOutcomes = 100
	relearnSources  = 1000
)

// Run implements the part of the daemon.
func (r *relearner) Run(ctx context.Context) error {
	if r.learner == nil || r.learning == nil {
		return nil
	}
	wait := relearnEvery
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		began := time.Now()
		done, err := r.compare(ctx)
		wait = relearnEvery
		if done || err != nil {
			wait = max(wait, relearnRest*time.Since(began))
		}
		if err != nil && ctx.Err() == nil {
			r.log.Error("cannot learn again from past polls by another tick; the old one stays", "err", err, "hint", freshet.HintOf(err))
		}
	}
}

// compare learns again if another tick is due, and reports whether it did.
func (r *relearner) compare(ctx context.Context) (done bool, err error) {
	var next *learn.Successor
	var from, to time.Duration
	var slots int
	err = r.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
		c := r.learning(s.Len(), r.limits.Limits().Budget)
		from, to, slots = r.learner.Tick(), c.Tick, s.Slots()
		if !r.learner.IsSetAs(c) && r.loop.dates.Ahead() == 0 { // else past dates are not those of now
			next = r.learner.Successor(c)
		}
	})
	if err != nil || next == nil {
		return false, err
	}
	defer r.loop.call(context.WithoutCancel(ctx), func(time.Time, *sched.Scheduler) { next.Abandon() })
	began := time.Now()
	if err := r.put(ctx, next, slots); err != nil {
		return false, err
	}
	if err := r.retell(ctx, next); err != nil {
		return false, err
	}
	r.log.Info("time is learnt by another tick, for the sources and the budget of now", "tick", to, "before", from, "took", time.Since(began))
	return true, nil
}

// put tells a successor of all sources that were there when it was made; of later edits it
// is told by its predecessor.
func (r *relearner) put(ctx context.Context, next *learn.Successor, slots int) error {
	for from := 0; from < slots; from += relearnSources {
		err := r.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
			for slot := freshet.Slot(from); int(slot) < min(slots, from+relearnSources); slot++ {
				if source, ok := s.Source(slot); ok {
					next.Put(now, slot, source, time.Time{})
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for state, err := range r.store.States(ctx, imported.ForecastState) {
		if err != nil {
			return err
		}
		c, given, err := imported.ParseForecast(state.Value)
		if err != nil || !given { // what cannot be read was reported at the start
			continue
		}
		err = r.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
			if slot, ok := s.Slot(state.Source); ok {
				next.OverrideForecast(slot, &c)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// retell tells a successor of the outcomes of the log and of imported histories, and has it
// take its place when it has caught up.
func (r *relearner) retell(ctx context.Context, next *learn.Successor) error {
	lessons, err := r.leader.lessons(ctx)
	if err != nil {
		return err
	}
	end, err := r.store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	f := follower{log: r.store, place: max(0, end-freshet.Cursor(r.leader.relearn))}
	for done := false; !done; {
		found, err := f.next(ctx)
		for again := true; again && err == nil; again = len(found) > 0 {
			told := 0
			err = r.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
				for told < min(len(found), relearnOutcomes) && found[told].Cursor <= r.learner.Upto() {
					lessons = teachUpTo(next.Learner, s, lessons, found[told].Cursor)
					tellSuccessor(next, s, now, found[told])
					told++
				}
				if told == len(found) && f.place >= r.learner.Upto() {
					lessons = teachUpTo(next.Learner, s, lessons, math.MaxInt64)
					next.SkipOutcome(r.learner.Upto()) // which may have been pruned
					done = next.Replace()
					r.keep.upto = 0 // what is saved is of another tick
				}
			})
			if found = found[told:]; told == 0 && len(found) > 0 { // the log is ahead of the loop
				select {
				case <-ctx.Done():
				case <-time.After(relearnRetry):
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tellSuccessor tells a successor of an outcome of the log, as at a start.
func tellSuccessor(next *learn.Successor, s *sched.Scheduler, now time.Time, o freshet.Outcome) {
	if early := o.Ended.Sub(now); early > 0 { // by a clock that was ahead
		o = o.Shifted(-early)
	}
	if slot, ok := s.Slot(o.Source); ok {
		next.Observe(o.Ended, slot, o)
		return
	}
	next.SkipOutcome(o.Cursor)
}
