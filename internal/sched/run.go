package sched

import (
	"context"
	"errors"
	"io"
	"time"

	"freshet/internal/freshet"
)

// A World is where polls happen and time passes.
//
// Clock and fetcher are one interface on purpose. The end of a poll and the
// ring of an alarm must fall on the same timeline, in the same order, or a
// replay proves nothing about the daemon. Things at the very same instant
// happen in no particular order.
type World interface {
	// Now returns the time in this world.
	Now() time.Time

	// Begin starts a poll and returns at once. A later Wait reports its end.
	Begin(ctx context.Context, p freshet.Poll)

	// Wait returns the next thing to happen, or the zero Event once alarm has
	// come. A zero alarm never comes. It returns io.EOF when the world ends.
	Wait(ctx context.Context, alarm time.Time) (Event, error)
}

// An Event is one thing that happened; at most one field is set.
type Event struct {
	Outcome *freshet.Outcome // a poll ended, and is on record
	Abandon freshet.SourceID // a poll of this source ended and left no record
	Away    *Away            // a host asked to be left alone
	Manners *Manners         // the robots.txt of a host was read
	Put     *freshet.Watched // a source was added or edited
	Remove  freshet.SourceID // a source was removed
	Ask     freshet.SourceID // somebody wants this source polled soon
	Push    *Push            // somebody says that a source has changed
	Chances *Chances         // somebody says when a source is likely to change
	Weight  *Weight          // the changes of a source matter more or less than before
	Hop     *Hop             // a poll under way wants to make one more request
	Slow    *Slow            // a poll under way waits for its server
	Limits  *Limits          // the operator changed the limits

	Levels func() []freshet.TagLevel // the operator changed the levels of tags, to these

	Strategies func() []freshet.TagStrategy // the operator changed the strategies of tags, to these
	Clock      func() time.Duration         // the clock that strategies go by was set, and is so far ahead

	// Call is run in the loop, between two things that happen: somebody wants
	// to look at the scheduler or its policy while neither changes.
	Call func(now time.Time, s *Scheduler)

	// More says that more has happened already, and is to be told before anything
	// is decided. To decide after each of twenty thousand edits takes minutes.
	More bool
}

// Run lets s poll in w until ctx is done, the world ends, or w fails.
func Run(ctx context.Context, s *Scheduler, w World) error {
	for {
		p, wake, ok := s.Next(w.Now())
		if ok {
			w.Begin(ctx, p)
			continue
		}
		for decide := false; !decide; {
			ev, err := w.Wait(ctx, wake)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			now := w.Now()
			s.hear(now, ev)
			// A look changes nothing, and there is nothing to decide before wake.
			rang := !wake.IsZero() && !now.Before(wake)
			decide = !ev.More && (ev.Call == nil || rang)
		}
	}
}

// hear takes in one thing that happened.
func (s *Scheduler) hear(now time.Time, ev Event) {
	switch {
	case ev.Outcome != nil:
		s.Observe(now, *ev.Outcome)
	case ev.Abandon != "":
		s.Abandon(now, ev.Abandon)
	case ev.Away != nil:
		s.Away(now, *ev.Away)
	case ev.Manners != nil:
		s.Manners(now, *ev.Manners)
	case ev.Put != nil:
		s.Put(now, *ev.Put)
	case ev.Remove != "":
		s.Remove(ev.Remove)
	case ev.Ask != "":
		s.Ask(ev.Ask)
	case ev.Push != nil:
		s.Push(now, *ev.Push)
	case ev.Chances != nil:
		s.Give(*ev.Chances)
	case ev.Weight != nil:
		s.Weigh(now, *ev.Weight)
	case ev.Hop != nil:
		s.Hop(now, *ev.Hop)
	case ev.Slow != nil:
		s.Slow(now, *ev.Slow)
	case ev.Limits != nil:
		s.SetLimits(now, *ev.Limits)
	case ev.Levels != nil:
		s.SetLevels(now, ev.Levels())
	case ev.Strategies != nil:
		s.SetStrategies(now, ev.Strategies())
	case ev.Clock != nil:
		s.SetClock(now, ev.Clock())
	case ev.Call != nil:
		ev.Call(now, s)
	}
}
