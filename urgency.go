package freshet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Urgency says what capturing a change is worth so many instants after it
// happened: 1 at once, and never more later than sooner. It is the dial between
// timeliness and completeness.
//
// The zero Urgency is uniform: late is as good as early.
type Urgency struct {
	Kind  UrgencyKind
	A     float64   // rate, width, power or decay, as the kind says
	K     int       // order of an UrgencyPolyexp
	Table []float64 // of an UrgencyTable: the worth after 0, 1, 2 ... instants; 0 beyond
}

// An UrgencyKind is a kind of Urgency.
type UrgencyKind uint8

// The kinds of urgency, as functions of the delay t in instants.
const (
	UrgencyUniform UrgencyKind = iota // 1
	UrgencyExp                        // A^t
	UrgencyWindow                     // 1 while t <= A
	UrgencyPoly                       // (1+t)^-A
	UrgencyPolyexp                    // e^-At times the sum of (At)^m/m! for m up to K
	UrgencyChordal                    // 1 - t/A while t < A
	UrgencyTable                      // Table[t]
)

// ParseUrgency reads an urgency: "uniform", "exp:R", "window:W", "poly:A",
// "polyexp:K,L", "chordal:W" or "table:1,0.5,...".
func ParseUrgency(s string) (Urgency, error) {
	kind, arg, has := strings.Cut(s, ":")
	bad := func(why string) (Urgency, error) {
		return Urgency{}, &InvalidError{Field: "urgency", Reason: fmt.Sprintf("%q %s; there are uniform, exp:R, window:W, poly:A, polyexp:K,L, chordal:W and table:1,0.5,...", s, why)}
	}
	if kind == "uniform" && !has {
		return Urgency{}, nil
	}
	var nums []float64
	if has {
		for field := range strings.SplitSeq(arg, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return bad("has something other than numbers after the colon")
			}
			nums = append(nums, x)
		}
	}
	one := len(nums) == 1
	switch kind {
	case "exp":
		if !one || nums[0] < 0 || nums[0] > 1 {
			return bad("needs one rate from 0 to 1")
		}
		return Urgency{Kind: UrgencyExp, A: nums[0]}, nil
	case "window":
		if !one || nums[0] < 0 || nums[0] != math.Trunc(nums[0]) || nums[0] > 1<<20 {
			return bad("needs one whole number of instants")
		}
		return Urgency{Kind: UrgencyWindow, A: nums[0]}, nil
	case "poly":
		if !one || nums[0] < 0 || nums[0] > 100 {
			return bad("needs one power from 0 to 100")
		}
		return Urgency{Kind: UrgencyPoly, A: nums[0]}, nil
	case "polyexp":
		if len(nums) != 2 || nums[0] < 0 || nums[0] > 16 || nums[0] != math.Trunc(nums[0]) || nums[1] < 0 || nums[1] > 100 {
			return bad("needs an order from 0 to 16 and a decay from 0 to 100")
		}
		return Urgency{Kind: UrgencyPolyexp, K: int(nums[0]), A: nums[1]}, nil
	case "chordal":
		if !one || !(nums[0] > 0) || nums[0] > 1<<20 {
			return bad("needs one width above 0")
		}
		return Urgency{Kind: UrgencyChordal, A: nums[0]}, nil
	case "table":
		if why := badTable(nums); why != "" {
			return bad(why)
		}
		return Urgency{Kind: UrgencyTable, Table: nums}, nil
	}
	return bad("is no urgency")
}

// badTable says what is wrong with a table of worths, if anything.
func badTable(t []float64) string {
	switch {
	case len(t) == 0 || t[0] != 1:
		return "has to begin with 1"
	case len(t) > 1<<16:
		return "is too long"
	}
	for i := 1; i < len(t); i++ {
		if t[i] > t[i-1] || t[i] < 0 {
			return "has to fall and stay at or above 0"
		}
	}
	return ""
}

// String returns the urgency as ParseUrgency reads it.
func (u Urgency) String() string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch u.Kind {
	case UrgencyExp:
		return "exp:" + num(u.A)
	case UrgencyWindow:
		return "window:" + num(u.A)
	case UrgencyPoly:
		return "poly:" + num(u.A)
	case UrgencyPolyexp:
		return "polyexp:" + strconv.Itoa(u.K) + "," + num(u.A)
	case UrgencyChordal:
		return "chordal:" + num(u.A)
	case UrgencyTable:
		fields := make([]string, len(u.Table))
		for i, x := range u.Table {
			fields[i] = num(x)
		}
		return "table:" + strings.Join(fields, ",")
	}
	return "uniform"
}

// At returns the worth of a capture t instants after the change.
func (u Urgency) At(t int) float64 {
	x := float64(t)
	switch u.Kind {
	case UrgencyExp:
		return math.Pow(u.A, x) // 0^0 is 1, as it has to be
	case UrgencyWindow:
		if x <= u.A {
			return 1
		}
		return 0
	case UrgencyPoly:
		return math.Pow(1+x, -u.A)
	case UrgencyPolyexp:
		term, sum := 1.0, 1.0
		for m := 1; m <= u.K; m++ {
			term *= u.A * x / float64(m)
			sum += term
		}
		return math.Exp(-u.A*x) * sum
	case UrgencyChordal:
		return max(0, 1-x/u.A)
	case UrgencyTable:
		if t < len(u.Table) {
			return u.Table[t]
		}
		return 0
	}
	return 1
}

// Equal reports whether two urgencies are the same.
func (u Urgency) Equal(o Urgency) bool {
	return u.Kind == o.Kind && u.A == o.A && u.K == o.K && slices.Equal(u.Table, o.Table)
}
