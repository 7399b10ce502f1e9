package daemon

import (
	"context"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Held is a source whose poll is wanted, and what keeps it back.
type Held struct {
	Source freshet.SourceID
	Hold   sched.Hold
}

// A Round is what asking for polls of many sources brought.
type Round struct {
	After freshet.Cursor // the outcomes of the round come after this one
	Asked []Held
	Left  []Held // not asked for, to spare them
}

// A RoundConfig says how many sources are asked for at once.
type RoundConfig struct {
	Hurry bool // do not wait for their MinGap
	Spare bool // leave out those that the daemon itself would not poll now
}

// Round asks for polls of many sources, to be made in this order.
func (d *Daemon) Round(ctx context.Context, ids []freshet.SourceID, cfg RoundConfig) (r Round, err error) {
	if !d.running.Load() {
		return r, ErrNotRunning
	}
	if r.After, err = d.cfg.Store.LastOutcome(ctx); err != nil {
		return r, err
	}
	for part := range slices.Chunk(ids, askAtOnce) {
		var asks []sched.Event
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, id := range part {
				if h, ok := s.Hold(now, id); ok && cfg.Spare && spared(h) {
					r.Left = append(r.Left, d.held(id, h))
					continue
				}
				if cfg.Hurry {
					s.Hurry(id)
				}
				if h, ok := s.HoldAsked(now, id); ok {
					r.Asked = append(r.Asked, d.held(id, h))
					asks = append(asks, sched.PollRequested{Source: id})
				}
			}
		})
		if err != nil {
			return r, err
		}
		d.inbox.post(asks...)
	}
	return r, nil
}

// spared reports whether a source is best left alone for now: it failed, was just
// polled, or is said to be as it was.
func spared(h sched.Hold) bool {
	switch h.Kind {
	case sched.HoldBackoff, sched.HoldMinGap, sched.HoldSourceGap, sched.HoldHint:
		return true
	}
	return false
}

func (d *Daemon) held(id freshet.SourceID, h sched.Hold) Held {
	h.Until = d.dates.Date(h.Until)
	return Held{id, h}
}

// Wanted returns the sources whose polls somebody asked for and that have not been
// made yet, and all that are being polled, with what they wait for.
func (d *Daemon) Wanted(ctx context.Context) (all []Held, err error) {
	if !d.running.Load() {
		return nil, ErrNotRunning
	}
	var ids []freshet.SourceID
	if err := d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) { ids = s.Requested() }); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, askAtOnce) {
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, id := range part {
				if h, ok := s.Hold(now, id); ok && (h.Asked || h.Kind == sched.HoldUnderWay) {
					all = append(all, d.held(id, h))
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
