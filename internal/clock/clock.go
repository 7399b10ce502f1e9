package clock

import (
	"sync"
	"time"
)

// jolt is how far the wall clock must move against the steady time to count as
// having been set. Less is drift, or the machine was busy between two readings.
const jolt = time.Second

// A Clock tells the steady time: what the wall clock said when the Clock was
// made, plus the time that has really passed since. It may be read from any
// goroutine.
type Clock struct {
	wall  func() time.Time
	began time.Time // by the wall clock
	since time.Time // the same moment by the clock that never jumps

	mu    sync.Mutex
	ahead time.Duration
}

// New returns a Clock. A nil wall means time.Now.
func New(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{wall: wall, began: wall().Round(0).UTC(), since: time.Now()}
}

// Now returns the steady time.
func (c *Clock) Now() time.Time { return c.began.Add(time.Since(c.since)) }

// Ahead returns how far the wall clock is ahead of the steady time, because it
// was set since the Clock was made. It is negative if the clock was set back,
// and zero as long as it was not set.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := c.wall().Round(0).Sub(c.Now())
	if moved := ahead - c.ahead; moved > jolt || moved < -jolt {
		c.ahead = ahead
	}
	return c.ahead
}

// Date returns a steady time as a date of the wall clock. The zero time has
// none.
func (c *Clock) Date(steady time.Time) time.Time { return Shift(steady, c.Ahead()) }

// Steady returns a date of the wall clock as steady time.
func (c *Clock) Steady(date time.Time) time.Time { return Shift(date, -c.Ahead()) }

// Shift moves a time, unless it is zero.
func Shift(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}
