package clock

import "time"

// A Count measures how much time has passed since it was begun. It includes the time that the
// machine sleeps, where that is known, and ignores how the wall clock is set. It may be read from
// any goroutine.
type Count struct {
	began time.Time     // with a monotonic reading
	up    time.Duration // of the machine then; zero if that is not known
}

// Begin returns a Count that begins now.
func Begin() Count { return Count{began: time.Now(), up: SinceBoot()} }

// Now returns how much time has passed.
func (c Count) Now() time.Duration {
	passed := time.Since(c.began)
	if c.up > 0 {
		passed = max(passed, SinceBoot()-c.up)
	}
	return passed
}
