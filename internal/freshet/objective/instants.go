package objective

import (
	"math"
	"strconv"
	"time"
)

// A Span is a Visibility counted in instants. Policies and the lab observe the world at
// regular instants and at nothing in between.
type Span struct {
	Kind VisibilityKind
	N    int // instants if VisibleFor, changes if VisibleLast; otherwise 0
}

// In converts a visibility to instants of the given length. A change is visible at an
// instant if it is no older than the visibility.
func (l Visibility) In(instant time.Duration) Span {
	s := Span{Kind: l.Kind}
	switch l.Kind {
	case VisibleFor:
		s.N = int(min(l.For/instant, math.MaxInt32))
	case VisibleLast:
		s.N = l.N
	}
	return s
}

// Lasts reports whether a change can still be captured age instants after its
// own, when after more changes have come since.
func (s Span) Lasts(age, after int) bool {
	switch s.Kind {
	case VisibleForever:
		return true
	case VisibleFor:
		return age <= s.N
	case VisibleLast:
		return after < s.N
	}
	return after < 1
}

// String returns the span in words, with bare numbers for instants.
func (s Span) String() string {
	if s.Kind == VisibleFor {
		return "window:" + strconv.Itoa(s.N)
	}
	return Visibility{Kind: s.Kind, N: s.N}.String()
}

// A Decay is an Urgency counted in instants. Urgency.In is the one way from
// lengths of time to instants.
type Decay struct {
	Kind  UrgencyKind
	A     float64   // rate, width, power or decay, as the kind says; in instants, but for an UrgencyPoly
	K     int       // order of an UrgencyPolyexp
	Table []float64 // of an UrgencyTable: the worth after 0, 1, 2 ... units; 0 beyond
	Scale float64   // of an UrgencyPoly or UrgencyTable: units in an instant; 0 means 1
}

// In returns the urgency in instants of a length. Where its unit is the instant,
// its numbers stay as they are.
func (u Urgency) In(instant time.Duration) Decay {
	d := Decay{Kind: u.Kind, A: u.A, K: u.K, Table: u.Table}
	units := float64(instant) / float64(u.per()) // in an instant
	switch u.Kind {
	case UrgencyExp:
		d.A = math.Pow(u.A, units)
	case UrgencyPolyexp:
		d.A = u.A * units
	case UrgencyWindow:
		d.A = float64(u.Width / instant)
	case UrgencyChordal:
		d.A = float64(u.Width) / float64(instant)
	case UrgencyPoly, UrgencyTable:
		if units != 1 {
			d.Scale = units
		}
	}
	return d
}

// Units returns how many units an instant has.
func (d Decay) Units() float64 {
	if d.Scale == 0 {
		return 1
	}
	return d.Scale
}

// At returns the worth of a capture t instants after the change.
func (d Decay) At(t float64) float64 {
	switch d.Kind {
	case UrgencyExp:
		return math.Pow(d.A, t) // 0^0 is 1, as it has to be
	case UrgencyWindow:
		if math.Floor(t) <= d.A {
			return 1
		}
		return 0
	case UrgencyPoly:
		return math.Pow(1+t*d.Units(), -d.A)
	case UrgencyPolyexp:
		left := math.Exp(-d.A * t)
		if left == 0 {
			return 0 // the sum could be too large for a number
		}
		term, sum := 1.0, 1.0
		for m := 1; m <= d.K; m++ {
			term *= d.A * t / float64(m)
			sum += term
		}
		return left * sum
	case UrgencyChordal:
		return max(0, 1-t/d.A)
	case UrgencyTable:
		return d.tabled(t * d.Units())
	}
	return 1
}

// tabled returns the worth after so many units of a table.
func (d Decay) tabled(x float64) float64 {
	if x >= float64(len(d.Table)) {
		return 0
	}
	at := int(x)
	if at+1 == len(d.Table) {
		return d.Table[at]
	}
	return d.Table[at] + (x-float64(at))*(d.Table[at+1]-d.Table[at])
}

// End returns after how many instants a capture is worth nothing; +Inf if it is
// always worth something.
func (d Decay) End() float64 {
	switch d.Kind {
	case UrgencyWindow:
		return d.A + 1
	case UrgencyChordal:
		return d.A
	case UrgencyTable:
		return float64(len(d.Table)) / d.Units()
	}
	return math.Inf(1)
}

// String returns the decay in words, with bare numbers for instants.
func (d Decay) String() string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch d.Kind {
	case UrgencyUniform:
		return "uniform"
	case UrgencyWindow:
		return "window:" + num(d.A)
	case UrgencyChordal:
		return "chordal:" + num(d.A)
	}
	words := Urgency{Kind: d.Kind, A: d.A, K: d.K, Table: d.Table}.numbers()
	if d.Scale != 0 {
		words += "*" + num(d.Scale)
	}
	return words
}
