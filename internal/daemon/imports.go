package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
)

// imports are what users know of when sources change: imported histories and forecast
// overrides.
type imports struct {
	store     freshet.Store
	loop      *loop
	learner   *learn.Learner // may be nil
	policy    freshet.Policy
	nextPolls *nextPolls
	editing   gate // from reading the store to telling the loop
	importing gate // for a Teach
	now       func() time.Time
	log       *slog.Logger
}

// Teach imports when a source changed, and returns how many of these times were not known
// yet, and all that were ever imported.
func (m *imports) Teach(ctx context.Context, id freshet.SourceID, told []imported.UpdateTime) (added int, all imported.History, err error) {
	if _, err := m.store.Source(ctx, id); err != nil {
		return 0, all, err
	}
	defer m.importing.pass(alone)()
	if all, err = m.Taught(ctx, id); err != nil {
		return 0, all, err
	}
	upto, err := m.store.LastOutcome(ctx)
	if err != nil {
		return 0, all, err
	}
	lesson, err := all.Learn(m.now(), upto, told)
	if err != nil || len(lesson.Times) == 0 {
		return 0, all, err
	}
	if m.loop.running.Load() && m.learner != nil {
		err := m.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
			if slot, ok := s.Slot(id); ok { // what it has learnt from by now
				lesson.Upto = m.learner.Upto()
				teach(m.learner, slot, append(all.All(), lesson.Times...), -m.loop.dates.Ahead())
			}
		})
		if err != nil {
			return 0, all, fmt.Errorf("teach source %s: %w", id, err)
		}
	}
	m.nextPolls.forget(id)
	all.Lessons = append(all.Lessons, lesson)
	belief := freshet.State{Source: id, Key: imported.HistoryState, Upto: lesson.Upto, Value: all.Memory()}
	if err := m.store.SaveState(ctx, []freshet.State{belief}); err != nil {
		return 0, all, err
	}
	return len(lesson.Times), all, nil
}

// Taught returns the imported history of a source.
func (m *imports) Taught(ctx context.Context, id freshet.SourceID) (imported.History, error) {
	belief, err := m.store.State(ctx, imported.HistoryState, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return imported.History{}, nil
	}
	if err != nil {
		return imported.History{}, err
	}
	return imported.ParseHistory(belief.Value)
}

// teach tells a learner all imported history of a source, in steady time.
func teach(l *learn.Learner, slot freshet.Slot, told []imported.UpdateTime, by time.Duration) {
	for i, u := range told {
		told[i] = imported.UpdateTime{After: clock.Shift(u.After, by), Until: clock.Shift(u.Until, by)}
	}
	l.Teach(slot, told)
}

// A dueLesson is a lesson that the learner is given when it has learnt from an outcome.
type dueLesson struct {
	source freshet.SourceID
	upto   freshet.Cursor
	told   []imported.UpdateTime // up to this lesson
}

// lessons returns all imported histories, in the order of the log.
func (b *leader) lessons(ctx context.Context) (all []dueLesson, err error) {
	if b.learner == nil {
		return nil, nil
	}
	for belief, err := range b.store.States(ctx, imported.HistoryState) {
		if err != nil {
			return nil, err
		}
		taught, err := imported.ParseHistory(belief.Value)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", belief.Source, err)
		}
		var told []imported.UpdateTime
		for _, l := range taught.Lessons {
			told = append(told, l.Times...)
			all = append(all, dueLesson{belief.Source, l.Upto, slices.Clone(told)})
		}
	}
	slices.SortStableFunc(all, func(a, b dueLesson) int { return cmp.Compare(a.upto, b.upto) })
	return all, nil
}

// teachUpTo gives a learner the lessons that came before an outcome, and returns those
// that did not.
func teachUpTo(l *learn.Learner, s *sched.Scheduler, lessons []dueLesson, next freshet.Cursor) []dueLesson {
	for len(lessons) > 0 && lessons[0].upto < next {
		if slot, ok := s.Slot(lessons[0].source); ok {
			teach(l, slot, lessons[0].told, 0)
		}
		lessons = lessons[1:]
	}
	return lessons
}

// SetChances sets the forecast override of a source, and returns it with the time for which
// it holds.
func (m *imports) SetChances(ctx context.Context, id freshet.SourceID, c imported.Forecast) (imported.Forecast, error) {
	if _, err := m.store.Source(ctx, id); err != nil {
		return c, err
	}
	c, err := c.Given(m.now())
	if err != nil {
		return c, err
	}
	return c, m.putChances(ctx, id, c.Memory())
}

// ClearChances removes the forecast override of a source.
func (m *imports) ClearChances(ctx context.Context, id freshet.SourceID) error {
	if _, err := m.store.Source(ctx, id); err != nil {
		return err
	}
	if _, given, err := m.Chances(ctx, id); err != nil || !given {
		return err
	}
	return m.putChances(ctx, id, nil)
}

// putChances saves a forecast override, and tells the loop.
func (m *imports) putChances(ctx context.Context, id freshet.SourceID, memory []byte) error {
	belief := freshet.State{Source: id, Key: imported.ForecastState, Value: memory}
	if err := m.store.SaveState(ctx, []freshet.State{belief}); err != nil {
		return err
	}
	return m.tellChances(ctx, id, true)
}

// Chances returns the forecast override of a source, and whether there is one.
func (m *imports) Chances(ctx context.Context, id freshet.SourceID) (c imported.Forecast, given bool, err error) {
	belief, err := m.store.State(ctx, imported.ForecastState, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	return imported.ParseForecast(belief.Value)
}

// tellChances tells the loop of the forecast override in the store; that there is none only
// if that is news. As with an edit, the loop ends with what was written last.
func (m *imports) tellChances(ctx context.Context, id freshet.SourceID, none bool) error {
	defer m.editing.pass(alone)()
	c, given, err := m.Chances(context.WithoutCancel(ctx), id)
	if err != nil {
		return fmt.Errorf("source %s: %w", id, err)
	}
	event := sched.ForecastOverride{Source: id}
	if given {
		c = c.Shifted(-m.loop.dates.Ahead())
		event.Given = &c
	}
	if given || none {
		m.nextPolls.forget(id)
		m.loop.post(event)
	}
	return nil
}

// retellChances tells the loop of all forecast overrides again, because the wall clock was
// set.
func (m *imports) retellChances(ctx context.Context) {
	for belief, err := range m.store.States(ctx, imported.ForecastState) {
		if err == nil {
			err = m.tellChances(ctx, belief.Source, false)
		}
		if err != nil && ctx.Err() == nil {
			m.log.Error("cannot read a forecast override", "source", belief.Source, "err", err)
		}
	}
}

// restoreChances tells the scheduler at a start of all forecast overrides. Those that cannot
// be read are skipped.
func (b *leader) restoreChances(ctx context.Context) error {
	for belief, err := range b.store.States(ctx, imported.ForecastState) {
		if err != nil {
			return err
		}
		c, given, err := imported.ParseForecast(belief.Value)
		if err != nil {
			b.log.Error("cannot read a forecast override", "source", belief.Source, "err", err)
		}
		if given {
			c = c.Shifted(-b.dates.Ahead())
			b.sched.Apply(b.dates.Now(), sched.ForecastOverride{Source: belief.Source, Given: &c})
		}
	}
	return nil
}

// GivenChances are a forecast override that is in force.
type GivenChances struct {
	imported.Forecast
	Used bool // by the policy
}

// givenTo returns the forecast override of a source that is not over; nil if there is none.
func (m *imports) givenTo(ctx context.Context, id freshet.SourceID, now time.Time) (*GivenChances, error) {
	c, given, err := m.Chances(ctx, id)
	if err != nil || !given || !c.Until.After(now) {
		return nil, err
	}
	_, used := m.policy.(interface {
		OverrideForecast(freshet.Slot, *imported.Forecast)
	})
	return &GivenChances{c, used}, nil
}
