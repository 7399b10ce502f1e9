package objective

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// An Urgency says what capturing a change is worth so long after it happened: 1
// at once, and never more later than sooner. It is the dial between timeliness
// and completeness.
//
// The zero Urgency is uniform: late is as good as early.
type Urgency struct {
	Kind  UrgencyKind
	A     float64       // rate, power or decay, as the kind says
	K     int           // order of an UrgencyPolyexp
	Table []float64     // of an UrgencyTable: the worth after 0, 1, 2 ... units; 0 beyond
	Per   time.Duration // the unit of A and Table; 0 means a second
	Width time.Duration // of an UrgencyWindow or an UrgencyChordal
}

// An UrgencyKind is a kind of Urgency.
type UrgencyKind uint8

// The kinds of urgency, as functions of the delay: t is the delay in units of
// Per, d the delay itself.
const (
	UrgencyUniform UrgencyKind = iota // 1
	UrgencyExp                        // A^t
	UrgencyWindow                     // 1 while d <= Width
	UrgencyPoly                       // (1+t)^-A
	UrgencyPolyexp                    // e^-At times the sum of (At)^m/m! for m up to K
	UrgencyChordal                    // 1 - d/Width while d < Width
	UrgencyTable                      // Table[t], in a straight line between two entries
)

// ParseUrgency reads an urgency: "uniform", "exp:0.9/1m", "half-life:1h",
// "window:10m", "poly:2/1m", "polyexp:2,0.5/1m", "chordal:10m" or
// "table:1,0.5/1m". A half-life is exp:0.5. Without a unit, time counts in
// seconds.
func ParseUrgency(s string) (Urgency, error) { return ParseUrgencyIn(time.Second, s) }

// ParseUrgencyIn is ParseUrgency, except that time counts in the unit given
// where none is written.
func ParseUrgencyIn(unit time.Duration, s string) (Urgency, error) {
	kind, arg, has := strings.Cut(s, ":")
	u, why := Urgency{}, "is not an urgency"
	switch {
	case kind == "uniform" && !has:
		return u, nil
	case !has:
	case kind == "window" || kind == "chordal" || kind == "half-life":
		u, why = parseByWidth(unit, kind, arg)
	default:
		u, why = parseByUnit(unit, kind, arg)
	}
	if why == "" {
		return u, nil
	}
	return Urgency{}, invalid.Errorf("urgency",
		"%q %s; use uniform, exp:0.9/1m, half-life:1h, window:10m, poly:A/1m, polyexp:K,L/1m, chordal:10m or table:1,0.5,.../1m", s, why)
}

// parseByWidth reads an urgency that is given by a length of time, or says what
// is wrong with it.
func parseByWidth(unit time.Duration, kind, arg string) (u Urgency, why string) {
	d, ok := parseWidth(unit, arg, kind == "window")
	if !ok || d == 0 && kind != "window" {
		return u, "needs a length of time such as 30s, 10m or 1d"
	}
	switch kind {
	case "window":
		return Urgency{Kind: UrgencyWindow, Width: d}, ""
	case "chordal":
		return Urgency{Kind: UrgencyChordal, Width: d}, ""
	}
	return Urgency{Kind: UrgencyExp, A: 0.5, Per: d}, ""
}

// parseByUnit reads an urgency that is given by numbers for a unit of time, or
// says what is wrong with it.
func parseByUnit(unit time.Duration, kind, arg string) (u Urgency, why string) {
	arg, per, has := strings.Cut(arg, "/")
	if has {
		d, err := units.ParsePer(strings.TrimSpace(per))
		if err != nil {
			return u, "needs a unit of time after the slash, such as 1s, 1m or 1d"
		}
		unit = d
	}
	nums, ok := parseNumbers(arg)
	if !ok {
		return u, "needs numbers after the colon"
	}
	one := len(nums) == 1
	switch kind {
	case "exp":
		if !one || nums[0] < 0 || nums[0] > 1 {
			return u, "needs one rate from 0 to 1"
		}
		return Urgency{Kind: UrgencyExp, A: nums[0], Per: unit}, ""
	case "poly":
		if !one || nums[0] < 0 || nums[0] > 100 {
			return u, "needs one power from 0 to 100"
		}
		return Urgency{Kind: UrgencyPoly, A: nums[0], Per: unit}, ""
	case "polyexp":
		if len(nums) != 2 || nums[0] < 0 || nums[0] > 16 || nums[0] != math.Trunc(nums[0]) || nums[1] < 0 || nums[1] > 100 {
			return u, "needs an order from 0 to 16 and a decay from 0 to 100"
		}
		return Urgency{Kind: UrgencyPolyexp, K: int(nums[0]), A: nums[1], Per: unit}, ""
	case "table":
		if why := badTable(nums); why != "" {
			return u, why
		}
		return Urgency{Kind: UrgencyTable, Table: nums, Per: unit}, ""
	}
	return u, "is not an urgency"
}

// parseNumbers reads numbers with commas between them.
func parseNumbers(s string) (nums []float64, ok bool) {
	for field := range strings.SplitSeq(s, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		nums = append(nums, x)
	}
	return nums, true
}

// badTable says what is wrong with a table of worths, if anything.
func badTable(t []float64) string {
	switch {
	case len(t) == 0 || t[0] != 1:
		return "must begin with 1"
	case len(t) > 1<<16:
		return "is too long"
	}
	for i := 1; i < len(t); i++ {
		if t[i] > t[i-1] || t[i] < 0 {
			return "must fall, and not below 0"
		}
	}
	return ""
}

// String returns the urgency as ParseUrgency reads it.
func (u Urgency) String() string {
	switch u.Kind {
	case UrgencyUniform:
		return "uniform"
	case UrgencyWindow:
		return "window:" + units.FormatDuration(u.Width)
	case UrgencyChordal:
		return "chordal:" + units.FormatDuration(u.Width)
	}
	return u.numbers() + "/" + units.FormatDuration(u.per())
}

// numbers returns an urgency that counts in units, without the unit.
func (u Urgency) numbers() string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch u.Kind {
	case UrgencyExp:
		return "exp:" + num(u.A)
	case UrgencyPoly:
		return "poly:" + num(u.A)
	case UrgencyPolyexp:
		return "polyexp:" + strconv.Itoa(u.K) + "," + num(u.A)
	}
	fields := make([]string, len(u.Table))
	for i, x := range u.Table {
		fields[i] = num(x)
	}
	return "table:" + strings.Join(fields, ",")
}

// per returns the unit with its default filled in.
func (u Urgency) per() time.Duration { return cmp.Or(u.Per, time.Second) }

// Equal reports whether two urgencies are the same.
func (u Urgency) Equal(o Urgency) bool {
	return u.Kind == o.Kind && u.A == o.A && u.K == o.K && slices.Equal(u.Table, o.Table) && u.per() == o.per() && u.Width == o.Width
}
