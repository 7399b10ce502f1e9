package daemon

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
)

// A leader decides what to poll next and learns from what polls found. It owns
// the scheduler, with the policy in it, and the learner. All that it knows of
// polls comes from the log of outcomes: it goes through what is there when it
// starts, and follows what comes. So a start, a recovery after a crash and the
// normal run are one path.
type leader struct {
	store       freshet.Store
	policy      freshet.Policy
	learner     *learn.Learner // nil if nothing is learnt
	retell      int            // how many of the last outcomes the policy wants again at a start
	relearn     int            // likewise the learner, if there is no checkpoint of it
	unbound     bool           // no source has to be polled because its MaxGap has passed, or its strategy says so
	log         *slog.Logger
	dates       *dates
	clock       *clockKeeper
	levels      *levelWatch
	strategies  *tagStrategies
	robots      *robotsKeeper
	weights     *weights
	checkpoints *checkpointer

	sched *sched.Scheduler // while the daemon runs; only for its loop
}

// longestPoll returns how long a poll can take under a budget at most: what fetching
// and recording may take, and each redirect that waits for room in the budget.
func longestPoll(b sched.Budget) time.Duration {
	return 5*time.Minute + 10*min(b.Per, 15*time.Minute)
}

// An outlooker can say what it thinks of a source.
type outlooker interface {
	Outlook(now time.Time, slot freshet.Slot) outlook.Outlook
}

// outlooks returns who can say what is thought of a source: the policy, or the
// learner beside it, or nobody.
func (b *leader) outlooks() (outlooker, bool) {
	if o, ok := b.policy.(outlooker); ok {
		return o, true
	}
	return b.learner, b.learner != nil
}

// beside returns the learner, unless it is the policy's own.
func (b *leader) beside() []freshet.Learner {
	if own, ok := b.policy.(interface{ Learner() *learn.Learner }); b.learner == nil || ok && own.Learner() == b.learner {
		return nil
	}
	return []freshet.Learner{b.learner}
}

// start makes a scheduler that knows all sources, with a policy and a learner that
// know again what they had learnt. It returns the place in the log up to which they
// have been told, and how dates were read. Each source is shown.
func (b *leader) start(ctx context.Context, l sched.Limits, show func(freshet.Source)) (place freshet.Cursor, r *clockRecovery, err error) {
	end, err := b.store.LastOutcome(ctx)
	if err != nil {
		return 0, nil, err
	}
	copies, err := b.checkpoints.savedCopies(ctx, end)
	if err != nil {
		return 0, nil, err
	}
	copies = append(copies, savedCopy{upto: max(0, end-freshet.Cursor(b.relearn))})
	for _, c := range copies {
		if b.learner != nil {
			b.learner.Forget()
		}
		b.sched = sched.New(b.policy, l, b.beside()...)
		b.sched.SetLevels(time.Time{}, b.levels.tags())
		if !b.unbound {
			b.sched.SetStrategies(time.Time{}, b.strategies.tags())
		}
		place, r, err = b.startFrom(ctx, c, end, l, show)
		if !errors.Is(err, learn.ErrForeignState) {
			return place, r, err
		}
		b.log.Info("saved learning state is from another version or setting; learning again from past polls", "copy", c.name, "why", err)
		b.checkpoints.upto = 0
		b.learner.Forget()
		for _, s := range b.sched.All() { // the policy gets them again, in other slots
			b.sched.Remove(s.ID)
		}
	}
	return 0, nil, errors.New("cannot learn from past polls")
}

// startFrom fills the scheduler, takes up a copy of what was learnt, and goes
// through the log from there.
func (b *leader) startFrom(ctx context.Context, c savedCopy, end freshet.Cursor, l sched.Limits, show func(freshet.Source)) (freshet.Cursor, *clockRecovery, error) {
	clockRecovery, err := b.clock.newClockRecovery(ctx, l)
	if err != nil {
		return 0, nil, err
	}
	now := clockRecovery.now
	from := max(0, end-freshet.Cursor(b.retell))
	if b.learner != nil {
		from = min(from, c.upto)
	}
	put := func(w freshet.SourceWithStatus) {
		w = bounded(w, b.unbound)
		clockRecovery.standing(&w.Status)
		if w.Status.Upto > from { // when it had been seen at that place is said by the next outcome of it
			w.Status.Seen = time.Time{}
		}
		b.sched.Put(now, w)
	}
	for w, err := range b.store.Sources(ctx) {
		if err != nil {
			return 0, nil, err
		}
		show(w.Source)
		clockRecovery.notice(w.Status)
		put(w)
	}
	if err := b.checkpoints.restore(ctx, b.sched, c, put); err != nil {
		return 0, nil, err
	}
	if err := b.restoreChances(ctx); err != nil {
		return 0, nil, err
	}
	if err := b.weights.restore(ctx, now, b.sched); err != nil {
		return 0, nil, err
	}
	place, err := b.catchUp(ctx, from, end, now)
	return place, clockRecovery, err
}

// resume tells the scheduler, before its first poll, what was sent of late, as the store
// says, and what is known of hosts.
func (b *leader) resume(ctx context.Context, r *clockRecovery, l sched.Limits, sent attemptsSince) error {
	attempts, err := b.lately(ctx, r, l, sent)
	if err != nil {
		return err
	}
	b.sched.Resume(r.now, attempts)
	if err := b.robots.restore(ctx, b.sched, r); err != nil {
		return err
	}
	r.report(b.clock)
	return b.clock.markClock(ctx, l, 0, r.assumed)
}

// attemptsSince is what a store says of attempts.
type attemptsSince func(context.Context, time.Time) ([]freshet.Attempt, error)

// lately returns the attempts that count against limits.
func (b *leader) lately(ctx context.Context, r *clockRecovery, l sched.Limits, sent attemptsSince) ([]freshet.Attempt, error) {
	attempts, err := sent(ctx, r.date(r.now.Add(-l.Budget.Per-longestPoll(l.Budget))))
	if err == nil {
		r.attempts(attempts)
	}
	return attempts, err
}

// bounded returns a source as the scheduler is to know it.
func bounded(w freshet.SourceWithStatus, unbound bool) freshet.SourceWithStatus {
	if unbound {
		w.MaxGap, w.Status.Held.Again, w.Strategy = 0, time.Time{}, timetable.Strategy{}
	}
	return w
}

// catchUp goes through the log from a place to its end, and returns where that is.
func (b *leader) catchUp(ctx context.Context, from, end freshet.Cursor, now time.Time) (place freshet.Cursor, err error) {
	lessons, err := b.lessons(ctx)
	if err != nil {
		return from, err
	}
	const everySoOften = 5 * time.Second
	began, said, n := time.Now(), time.Now(), 0
	f := follower{log: b.store, place: from}
	for f.place < end {
		found, err := f.next(ctx)
		if err != nil {
			return f.place, err
		}
		for _, o := range found {
			if early := o.Ended.Sub(now); early > 0 { // by a clock that was ahead
				o = o.Shifted(-early)
			}
			lessons = teachUpTo(b.learner, b.sched, lessons, o.Cursor)
			b.sched.Observe(o.Ended, o)
		}
		if n += len(found); time.Since(said) > everySoOften {
			said = time.Now()
			b.log.Info("learning from past polls", "outcome", f.place, "of", end)
		}
	}
	teachUpTo(b.learner, b.sched, lessons, math.MaxInt64)
	if n > 0 {
		b.log.Debug("learnt from past polls", "outcomes", n, "took", time.Since(began))
	}
	return f.place, nil
}
