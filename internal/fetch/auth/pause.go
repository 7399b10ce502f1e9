package auth

import "time"

// A pause is how long something that failed is left alone, longer with each failure:
// a wrong password must not be tried again and again.
type pause struct {
	Failures int       `json:"failures,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

const (
	firstPause   = time.Minute
	longestPause = 6 * time.Hour
)

// over returns when the pause is over; zero if it is.
func (p pause) over(now time.Time) time.Time {
	if now.Before(p.Until) && p.Until.Sub(now) <= longestPause {
		return p.Until
	}
	return time.Time{}
}

// lengthen begins a pause after one more failure.
func (p *pause) lengthen(now time.Time) {
	p.Failures++
	length := longestPause
	if p.Failures < 12 {
		length = min(longestPause, firstPause<<(p.Failures-1))
	}
	p.Until = now.Add(length)
}
