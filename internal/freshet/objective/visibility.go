package objective

import (
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A Visibility is how long after a change a poll can still capture it.
//
// The zero Visibility is overwrite: each change replaces the one before, as on a page
// that shows only its present state.
type Visibility struct {
	Kind VisibilityKind
	For  time.Duration // if VisibleFor
	N    int           // changes, if VisibleLast
}

// A VisibilityKind is a kind of Visibility.
type VisibilityKind uint8

// The kinds of visibility.
const (
	VisibleUntilNext VisibilityKind = iota // until the next change
	VisibleForever                         // for ever, as in a log
	VisibleFor                             // for some time after the change
	VisibleLast                            // until N more changes have come, as in a list of the latest N
)

// ParseVisibility parses a visibility: "overwrite", "append", "window:10m" or "last:5". A
// window without a unit counts seconds.
func ParseVisibility(s string) (Visibility, error) { return ParseVisibilityIn(time.Second, s) }

// ParseVisibilityIn is ParseVisibility, except that a window without a unit counts in the
// one given.
func ParseVisibilityIn(unit time.Duration, s string) (Visibility, error) {
	kind, arg, has := strings.Cut(s, ":")
	bad := func(why string) (Visibility, error) {
		return Visibility{}, invalid.Errorf("life", "%q %s; use overwrite, append, window:10m or last:5", s, why)
	}
	switch {
	case kind == "overwrite" && !has:
		return Visibility{}, nil
	case kind == "append" && !has:
		return Visibility{Kind: VisibleForever}, nil
	case kind == "window" && has:
		d, ok := parseWidth(unit, arg, true)
		if !ok {
			return bad("needs a length of time such as 30s, 10m or 1d")
		}
		return Visibility{Kind: VisibleFor, For: d}, nil
	case kind == "last" && has:
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > 1<<10 {
			return bad("needs a whole number of changes from 1 to 1024")
		}
		return Visibility{Kind: VisibleLast, N: n}, nil
	}
	return bad("is not a life")
}

// mostUnits bounds a length of time that is written as a number of units.
const mostUnits = 1 << 20

// parseWidth reads a length of time. A bare number counts in units; whole says
// that it must be a whole one.
func parseWidth(unit time.Duration, s string, whole bool) (time.Duration, bool) {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		d, err := units.ParseDuration(s)
		return d, err == nil
	}
	if !(x >= 0) || x > mostUnits || whole && x != math.Trunc(x) || x*float64(unit) >= math.MaxInt64 {
		return 0, false
	}
	d := time.Duration(math.Round(x * float64(unit)))
	if d == 0 && x > 0 {
		d = 1 // a width that is there does not vanish
	}
	return d, true
}

// String returns the form that ParseVisibility parses.
func (l Visibility) String() string {
	switch l.Kind {
	case VisibleForever:
		return "append"
	case VisibleFor:
		return "window:" + units.FormatDuration(l.For)
	case VisibleLast:
		return "last:" + strconv.Itoa(l.N)
	}
	return "overwrite"
}
