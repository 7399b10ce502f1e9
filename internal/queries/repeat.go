package queries

import (
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A Repeat is the length of time after which matches are delivered again until they are acknowledged. Zero means
// never.
type Repeat time.Duration

// MarshalText implements encoding.TextMarshaler.
func (r Repeat) MarshalText() ([]byte, error) {
	return []byte(units.FormatDuration(time.Duration(r))), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Repeat) UnmarshalText(text []byte) error {
	if *r = 0; len(text) == 0 {
		return nil
	}
	d, err := units.ParseDuration(string(text))
	if err != nil {
		return invalid.Errorf("repeat", "%v", err)
	}
	*r = Repeat(d)
	return nil
}

// shortestRepeat keeps a slip from filling an inbox.
const shortestRepeat = time.Minute

func (r *Repeat) check() error {
	if d := time.Duration(*r); d != 0 && (d < shortestRepeat || d > longestWindow) {
		return invalid.Errorf("repeat", "must be from %s to %s", units.FormatDuration(shortestRepeat), units.FormatDuration(longestWindow))
	}
	return nil
}

// Unacknowledged returns how many matches are to be delivered again.
func (q Query) Unacknowledged() int64 {
	if q.Repeat == 0 {
		return 0
	}
	return max(0, q.Last-q.Acknowledged)
}

// tickRepeat returns the batch that delivers again what nobody has acknowledged, if it is time for it.
func (p *Pace) tickRepeat(now time.Time) []Batch {
	if p.again.IsZero() || now.Before(p.again) {
		return nil
	}
	if isQuiet(p.query.Quiet, now.In(p.quietIn)) {
		p.again = quietEnd(p.query.Quiet, now, p.quietIn)
		return nil
	}
	if free := p.free(now); free.After(now) {
		p.again = free
		return nil
	}
	p.again = now.Add(time.Duration(p.query.Repeat))
	p.count(now)
	return []Batch{{Query: p.query.ID, From: p.query.Acknowledged + 1, To: p.from - 1, Delay: DelayRepeat, At: now}}
}

// planRepeat decides when the matches sent so far, up to one of them, are sent again.
func (p *Pace) planRepeat(now time.Time) {
	switch {
	case p.query.Repeat == 0 || p.query.Paused || p.query.Acknowledged >= p.from-1:
		p.again = time.Time{}
	case p.again.IsZero():
		p.again = now.Add(time.Duration(p.query.Repeat))
	}
}
