//go:build unix

package torture

import (
	"context"
	"time"
)

// setClock sets the clock of a running daemon. What is under way must not mind:
// a process measures time by its monotonic clock.
func (e *episode) setClock(ctx context.Context) bool {
	if !e.goInside(ctx) {
		return false
	}
	e.offset = e.nextOffset()
	seconds := int64(e.offset / time.Second)
	if err := e.now.tell(order{Clock: &seconds}); err != nil {
		e.unanswered(ctx, "set the clock", err)
		return false
	}
	e.dwell(ctx, time.Duration(300+e.chance.IntN(1500))*time.Millisecond)
	return true
}

// restartOnOtherClock ends the daemon, sets the clock and starts it again. What
// the store says of times is then all it has.
func (e *episode) restartOnOtherClock(ctx context.Context) {
	if e.chance.IntN(2) == 0 {
		e.term()
	} else {
		e.kill()
	}
	e.offset = e.nextOffset()
	e.hidden = append(e.hidden, time.Now())
	if e.up(ctx, start{inside: true}) {
		e.dwell(ctx, time.Duration(300+e.chance.IntN(1500))*time.Millisecond)
	}
}

// nextOffset draws how far the clock is to be ahead: somewhere else, or right
// again.
func (e *episode) nextOffset() time.Duration {
	if e.offset != 0 && e.chance.IntN(2) == 0 {
		return 0
	}
	return drawJump(e.chance)
}

// goInside sees that the daemon is one whose clock and disk obey.
func (e *episode) goInside(ctx context.Context) bool {
	if e.now.inside {
		return true
	}
	e.term()
	return e.up(ctx, start{inside: true})
}
