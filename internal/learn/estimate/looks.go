package estimate

import "math"

// Looks counts polls of a source, to estimate how often it changes: how many
// found it changed, and how much time lay before those that did and before those
// that did not. How often it changed in between is not known.
//
// This is the one place where a rate of changes comes from what polls saw. The
// estimators of the papers and the learner, which follow a source poll by poll,
// have their own.
type Looks struct {
	Changes float64 // how many looks found one; a part where old ones are forgotten
	Changed float64 // time before the looks that found a change, added up
	Same    float64 // time before the looks that found none
}

// RegularLooks returns n looks, an interval apart, of which so many found a
// change.
func RegularLooks(changed, n, interval float64) Looks {
	return Looks{Changes: changed, Changed: changed * interval, Same: (n - changed) * interval}
}

// See takes in a look, so much time after the one before.
func (l *Looks) See(after float64, changed bool) {
	if !changed {
		l.Same += after
		return
	}
	l.Changes++
	l.Changed += after
}

// Add takes in the looks at another source.
func (l *Looks) Add(o Looks) {
	l.Changes += o.Changes
	l.Changed += o.Changed
	l.Same += o.Same
}

// Rate returns the rate of changes that best explains the looks, corrected for
// its bias: for n looks at regular intervals I of which X found a change it is
// -ln((n-X+0.5)/(n+0.5))/I (Cho and Garcia-Molina, "Estimating frequency of
// change", 2003). Irregular intervals that found a change are taken as equal to
// their mean, for which the likeliest rate has this closed form, so no list of
// them is needed; [Likeliest] is exact.
func (l Looks) Rate() float64 {
	if l.Changes <= 0 || l.Changed <= 0 {
		return 0
	}
	mean := l.Changed / l.Changes
	return math.Log1p(l.Changed/(l.Same+mean/2)) / mean
}

// Exposure returns the time over which the changes would have been counted in
// full: the rate is the changes divided by it.
func (l Looks) Exposure() float64 {
	if rate := l.Rate(); rate > 0 {
		return l.Changes / rate
	}
	return l.Same
}

// Shrunk returns the rate drawn towards what sources have in general, as if
// strength changes had been seen at that rate. A source that was never found
// changed keeps a rate above 0, which falls the longer it is watched.
func (l Looks) Shrunk(general, strength float64) float64 {
	if !(general > 0) {
		return l.Rate()
	}
	return (strength + l.Changes) / (strength/general + l.Exposure())
}

// IfAny returns how many changes are expected, where it would be x, once it is
// known that there was at least one.
func IfAny(x float64) float64 {
	if x < 1e-9 {
		return 1
	}
	return x / -math.Expm1(-x)
}
