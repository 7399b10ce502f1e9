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
// replay proves nothing about the daemon. Events of the same moment come in
// no particular order.
type World interface {
	// Now returns the time in this world.
	Now() time.Time

	// Begin starts a poll and returns at once. A later Wait reports its end.
	Begin(ctx context.Context, p freshet.Poll)

	// Wait returns the next event, or nil once alarm has come. A zero alarm
	// never comes. More says that another event is ready and that the loop
	// takes it before it decides: to decide after each of twenty thousand
	// edits takes minutes. Wait returns io.EOF when the world ends.
	Wait(ctx context.Context, alarm time.Time) (ev Event, more bool, err error)
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
			ev, more, err := w.Wait(ctx, wake)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			now := w.Now()
			s.Apply(now, ev)
			// A Call changes nothing, and there is nothing to decide before wake.
			_, call := ev.(Call)
			rang := !wake.IsZero() && !now.Before(wake)
			decide = !more && (!call || rang)
		}
	}
}
