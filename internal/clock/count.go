package clock

import "time"

// A Count tells how much time has passed since it was begun. It goes on while the machine
// sleeps, where that can be told, and does not mind how the wall clock is set. It may be read
// from any goroutine.
type Count struct {
	began time.Time     // with a monotonic reading
	up    time.Duration // of the machine then; zero if that cannot be told
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
