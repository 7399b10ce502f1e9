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
				d.leader.teach(slot, append(all.All(), lesson.Times...), -d.dates.Ahead())
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
func (b *leader) teach(slot freshet.Slot, told []freshet.UpdateTime, by time.Duration) {
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
func (b *leader) lessons(ctx context.Context) (all []dueLesson, err error) {
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
func (b *leader) teachUpTo(lessons []dueLesson, next freshet.Cursor) []dueLesson {
	for len(lessons) > 0 && lessons[0].upto < next {
		if slot, ok := b.sched.Slot(lessons[0].source); ok {
			b.teach(slot, lessons[0].told, 0)
		}
		lessons = lessons[1:]
	}
	return lessons
}

// SetChances says when a source is likely to change, in the place of what was said of it
// before, and returns from when to when that holds.
func (d *Daemon) SetChances(ctx context.Context, id freshet.SourceID, c freshet.Chances) (freshet.Chances, error) {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return c, err
	}
	c, err := c.Given(d.cfg.Now())
	if err != nil {
		return c, err
	}
	return c, d.putChances(ctx, id, c.Memory())
}

// ClearChances takes back what was said of when a source is likely to change.
func (d *Daemon) ClearChances(ctx context.Context, id freshet.SourceID) error {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return err
	}
	if _, given, err := d.Chances(ctx, id); err != nil || !given {
		return err
	}
	return d.putChances(ctx, id, nil)
}

// putChances keeps chances, and tells the loop.
func (d *Daemon) putChances(ctx context.Context, id freshet.SourceID, memory []byte) error {
	belief := freshet.Belief{Source: id, Estimator: freshet.ChancesBelief, Memory: memory}
	if err := d.cfg.Store.SaveBeliefs(ctx, []freshet.Belief{belief}); err != nil {
		return err
	}
	return d.tellChances(ctx, id, true)
}

// Chances returns what was said of when a source is likely to change, and whether
// anything was.
func (d *Daemon) Chances(ctx context.Context, id freshet.SourceID) (c freshet.Chances, given bool, err error) {
	belief, err := d.cfg.Store.Belief(ctx, freshet.ChancesBelief, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	return freshet.ParseChances(belief.Memory)
}

// tellChances tells the loop what the store has of when a source is likely to change; that
// there is nothing only if that is news. As with an edit, the loop ends with what was
// written last.
func (d *Daemon) tellChances(ctx context.Context, id freshet.SourceID, none bool) error {
	defer d.editing.pass(alone)()
	c, given, err := d.Chances(context.WithoutCancel(ctx), id)
	if err != nil {
		return fmt.Errorf("source %s: %w", id, err)
	}
	event := sched.ForecastOverride{Source: id}
	if given {
		c = c.Shifted(-d.dates.Ahead())
		event.Given = &c
	}
	if given || none {
		d.expected.forget(id)
		d.inbox.post(event)
	}
	return nil
}

// retellChances tells the loop of all chances again, because the clock that they go by
// was set.
func (d *Daemon) retellChances(ctx context.Context) {
	for belief, err := range d.cfg.Store.Beliefs(ctx, freshet.ChancesBelief) {
		if err == nil {
			err = d.tellChances(ctx, belief.Source, false)
		}
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("cannot read the chances that were given", "source", belief.Source, "err", err)
		}
	}
}

// restoreChances tells the scheduler at a start of all chances that were given. Those that
// cannot be read are passed over.
func (b *leader) restoreChances(ctx context.Context) error {
	for belief, err := range b.store.Beliefs(ctx, freshet.ChancesBelief) {
		if err != nil {
			return err
		}
		c, given, err := freshet.ParseChances(belief.Memory)
		if err != nil {
			b.log.Error("cannot read the chances that were given", "source", belief.Source, "err", err)
		}
		if given {
			c = c.Shifted(-b.dates.Ahead())
			b.sched.Apply(b.dates.Now(), sched.ForecastOverride{Source: belief.Source, Given: &c})
		}
	}
	return nil
}

// GivenChances are what was said of when a source is likely to change, as far as it counts
// at a moment.
type GivenChances struct {
	freshet.Chances
	Used bool // by the policy
}

// givenTo returns the chances of a source that are not over; nil if there are none.
func (d *Daemon) givenTo(ctx context.Context, id freshet.SourceID, now time.Time) (*GivenChances, error) {
	c, given, err := d.Chances(ctx, id)
	if err != nil || !given || !c.Until.After(now) {
		return nil, err
	}
	_, used := d.cfg.Policy.(interface {
		OverrideForecast(freshet.Slot, *freshet.Chances)
	})
	return &GivenChances{c, used}, nil
}
