package policy

import "math"

// Evidence is what polls have told about how often a source changes: how many
// found it changed, and how much time lay before those that did and before
// those that did not. How often it changed in between is not known.
type Evidence struct {
	Changes float64 // how many polls found one; a part where old ones are forgotten
	Changed float64 // time before the polls that found a change, added up
	Same    float64 // time before the polls that found none
}

// Rate returns the change rate that best explains the evidence, corrected for
// its bias: for n polls at regular intervals I of which X found a change it is
// -ln((n-X+0.5)/(n+0.5))/I, after Cho and Garcia-Molina. Irregular intervals
// that found a change are taken as equal to their mean, for which the likeliest
// rate has this closed form; so the evidence needs no list of them.
func (e Evidence) Rate() float64 {
	if e.Changes <= 0 || e.Changed <= 0 {
		return 0
	}
	mean := e.Changed / e.Changes
	return math.Log1p(e.Changed/(e.Same+mean/2)) / mean
}

// exposure returns the time over which the changes would have been counted in
// full: the rate is the changes divided by it.
func (e Evidence) exposure() float64 {
	if rate := e.Rate(); rate > 0 {
		return e.Changes / rate
	}
	return e.Same
}

// Shrunk returns the rate drawn towards what sources have in general, as if
// strength changes had been seen at that rate. A source that was never found
// changed keeps a rate above 0, which falls the longer it is watched.
func (e Evidence) Shrunk(general, strength float64) float64 {
	if !(general > 0) {
		return e.Rate()
	}
	return (strength + e.Changes) / (strength/general + e.exposure())
}
