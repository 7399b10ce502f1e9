package policy

import "time"

// instants counts time in instants: the j-th ends j lengths after the start.
type instants struct {
	start  time.Time
	length time.Duration
}

// newInstants returns the count from start; a zero start is set by begin.
func newInstants(start time.Time, length time.Duration) instants {
	if length <= 0 {
		length = time.Minute
	}
	return instants{start: start, length: length}
}

// begin starts the count at now if it has no start.
func (i *instants) begin(now time.Time) {
	if i.start.IsZero() {
		i.start = now
	}
}

// at returns the instant whose end is nearest to t: a caller that comes a
// little early or late means the same instant.
func (i *instants) at(t time.Time) int64 {
	d := t.Sub(i.start) + i.length/2
	if d < 0 {
		return 0
	}
	return int64(d / i.length)
}

// time returns the end of an instant.
func (i *instants) time(at int64) time.Time { return i.start.Add(time.Duration(at) * i.length) }
