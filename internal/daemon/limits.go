package daemon

import (
	"sync"

	"freshet/internal/sched"
)

// limits are what the scheduler has to keep to.
type limits struct {
	loop *loop

	mu     sync.Mutex
	set    sched.Limits
	paused bool // no polls begin
}

// Limits returns the limits that were set.
func (l *limits) Limits() sched.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// SetLimits changes the limits while polls go on.
func (l *limits) SetLimits(set sched.Limits) {
	l.mu.Lock()
	l.set = set
	l.mu.Unlock()
	l.loop.post(sched.LimitsSet{Limits: l.inForce()})
}

// pause stops new polls, or lets them begin again.
func (l *limits) pause(paused bool) {
	l.mu.Lock()
	l.paused = paused
	l.mu.Unlock()
	l.loop.post(sched.LimitsSet{Limits: l.inForce()})
}

// inForce returns the limits that the loop goes by.
func (l *limits) inForce() sched.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.set
	if l.paused {
		in.Workers = -1 // not one
	}
	return in
}
