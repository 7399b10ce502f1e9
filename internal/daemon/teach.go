package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Teach tells when a source changed by what somebody knows from elsewhere, and returns how
// many of these times were not known yet, and all that was ever told.
func (d *Daemon) Teach(ctx context.Context, id freshet.SourceID, told []freshet.UpdateTime) (added int, all freshet.Taught, err error) {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return 0, all, err
	}
	defer d.teaching.pass(alone)()
	if all, err = d.Taught(ctx, id); err != nil {
		return 0, all, err
	}
	upto, err := d.cfg.Store.LastOutcome(ctx)
	if err != nil {
		return 0, all, err
	}
	lesson, err := all.Learn(d.cfg.Now(), upto, told)
	if err != nil || len(lesson.Times) == 0 {
		return 0, all, err
	}
	if d.running.Load() && d.cfg.Learner != nil {
		err := d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) {
			if slot, ok := s.Slot(id); ok { // what it has learnt from by now
				lesson.Upto = d.cfg.Learner.Upto()
				d.brain.teach(slot, append(all.All(), lesson.Times...), -d.dates.Ahead())
			}
		})
		if err != nil {
			return 0, all, fmt.Errorf("teach source %s: %w", id, err)
		}
	}
	d.expected.forget(id)
	all.Lessons = append(all.Lessons, lesson)
	belief := freshet.Belief{Source: id, Estimator: freshet.TaughtBelief, Upto: lesson.Upto, Memory: all.Memory()}
	if err := d.cfg.Store.SaveBeliefs(ctx, []freshet.Belief{belief}); err != nil {
		return 0, all, err
	}
	return len(lesson.Times), all, nil
}

// Taught returns when a source changed by what somebody has told.
func (d *Daemon) Taught(ctx context.Context, id freshet.SourceID) (freshet.Taught, error) {
	belief, err := d.cfg.Store.Belief(ctx, freshet.TaughtBelief, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return freshet.Taught{}, nil
	}
	if err != nil {
		return freshet.Taught{}, err
	}
	return freshet.ParseTaught(belief.Memory)
}

// teach tells the learner all that was ever told of a source, in steady time.
func (b *brain) teach(slot freshet.Slot, told []freshet.UpdateTime, by time.Duration) {
	for i, u := range told {
		told[i] = freshet.UpdateTime{After: clock.Shift(u.After, by), Until: clock.Shift(u.Until, by)}
	}
	b.learner.Teach(slot, told)
}

// A dueLesson is a lesson that the learner is given when it has learnt from an outcome.
type dueLesson struct {
	source freshet.SourceID
	upto   freshet.Cursor
	told   []freshet.UpdateTime // up to this lesson
}

// lessons returns all that was ever told, in the order of the log.
func (b *brain) lessons(ctx context.Context) (all []dueLesson, err error) {
	if b.learner == nil {
		return nil, nil
	}
	for belief, err := range b.store.Beliefs(ctx, freshet.TaughtBelief) {
		if err != nil {
			return nil, err
		}
		taught, err := freshet.ParseTaught(belief.Memory)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", belief.Source, err)
		}
		var told []freshet.UpdateTime
		for _, l := range taught.Lessons {
			told = append(told, l.Times...)
			all = append(all, dueLesson{belief.Source, l.Upto, slices.Clone(told)})
		}
	}
	slices.SortStableFunc(all, func(a, b dueLesson) int { return cmp.Compare(a.upto, b.upto) })
	return all, nil
}

// teachUpTo gives the learner the lessons that came before an outcome, and returns those
// that did not.
func (b *brain) teachUpTo(lessons []dueLesson, next freshet.Cursor) []dueLesson {
	for len(lessons) > 0 && lessons[0].upto < next {
		if slot, ok := b.sched.Slot(lessons[0].source); ok {
			b.teach(slot, lessons[0].told, 0)
		}
		lessons = lessons[1:]
	}
	return lessons
}
