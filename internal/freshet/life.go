package freshet

import (
	"freshet/internal/invalid"
	"freshet/internal/units"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Life says how long a change of a source can still be captured.
//
// The zero Life is overwrite: each change replaces the one before, as on a page
// that shows only its present state.
type Life struct {
	Kind LifeKind
	For  time.Duration // of a LifeWindow
	N    int           // changes of a LifeLast
}

// A LifeKind is a kind of Life.
type LifeKind uint8

// The kinds of life.
const (
	LifeOverwrite LifeKind = iota // until the next change
	LifeAppend                    // for ever, as in a log
	LifeWindow                    // for some time after the change
	LifeLast                      // until N more changes have come, as in a list of the latest N
)

// ParseLife reads a life: "overwrite", "append", "window:10m" or "last:5". A
// window without a unit counts seconds.
func ParseLife(s string) (Life, error) { return ParseLifeIn(time.Second, s) }

// ParseLifeIn is ParseLife, except that a window without a unit counts in the
// one given.
func ParseLifeIn(unit time.Duration, s string) (Life, error) {
	kind, arg, has := strings.Cut(s, ":")
	bad := func(why string) (Life, error) {
		return Life{}, invalid.Errorf("life", "%q %s; use overwrite, append, window:10m or last:5", s, why)
	}
	switch {
	case kind == "overwrite" && !has:
		return Life{}, nil
	case kind == "append" && !has:
		return Life{Kind: LifeAppend}, nil
	case kind == "window" && has:
		d, ok := parseWidth(unit, arg, true)
		if !ok {
			return bad("needs a length of time such as 30s, 10m or 1d")
		}
		return Life{Kind: LifeWindow, For: d}, nil
	case kind == "last" && has:
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > 1<<10 {
			return bad("needs a whole number of changes from 1 to 1024")
		}
		return Life{Kind: LifeLast, N: n}, nil
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

// String returns the life as ParseLife reads it.
func (l Life) String() string {
	switch l.Kind {
	case LifeAppend:
		return "append"
	case LifeWindow:
		return "window:" + units.FormatDuration(l.For)
	case LifeLast:
		return "last:" + strconv.Itoa(l.N)
	}
	return "overwrite"
}
