package ranking

import "time"

// Instants counts time in instants: the j-th ends j lengths after the start.
type Instants struct {
	Start  time.Time
	Length time.Duration
}

// NewInstants returns the count from start; a zero start is set by Begin.
func NewInstants(start time.Time, length time.Duration) Instants {
	if length <= 0 {
		length = time.Minute
	}
	return Instants{Start: start, Length: length}
}

// Begin starts the count at now if it has no start.
func (i *Instants) Begin(now time.Time) {
	if i.Start.IsZero() {
		i.Start = now
	}
}

// At returns the instant whose end is nearest to t: a caller that comes a
// little early or late means the same instant.
func (i *Instants) At(t time.Time) int64 {
	d := t.Sub(i.Start) + i.Length/2
	if d < 0 {
		return 0
	}
	return int64(d / i.Length)
}

// Time returns the end of an instant.
func (i *Instants) Time(at int64) time.Time { return i.Start.Add(time.Duration(at) * i.Length) }
