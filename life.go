package freshet

import (
	"fmt"
	"strconv"
	"strings"
)

// A Life says how long a change of a source can still be captured. Time is
// counted in instants: how long one is, is the policy's affair.
//
// The zero Life is overwrite: each change replaces the one before, as on a page
// that shows only its present state.
type Life struct {
	Kind LifeKind
	N    int // instants of a LifeWindow, changes of a LifeLast; otherwise 0
}

// A LifeKind is a kind of Life.
type LifeKind uint8

// The kinds of life.
const (
	LifeOverwrite LifeKind = iota // until the next change
	LifeAppend                    // for ever, as in a log
	LifeWindow                    // for N instants after its own
	LifeLast                      // until N more changes have come, as in a list of the latest N
)

// ParseLife reads a life: "overwrite", "append", "window:W" or "last:Z".
func ParseLife(s string) (Life, error) {
	kind, arg, has := strings.Cut(s, ":")
	bad := func(why string) (Life, error) {
		return Life{}, &InvalidError{Field: "life", Reason: fmt.Sprintf("%q %s; there are overwrite, append, window:W and last:Z", s, why)}
	}
	switch {
	case kind == "overwrite" && !has:
		return Life{}, nil
	case kind == "append" && !has:
		return Life{Kind: LifeAppend}, nil
	case kind == "window" && has:
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 || n > 1<<20 {
			return bad("needs a whole number of instants from 0 to 1048576")
		}
		return Life{Kind: LifeWindow, N: n}, nil
	case kind == "last" && has:
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > 1<<10 {
			return bad("needs a whole number of changes from 1 to 1024")
		}
		return Life{Kind: LifeLast, N: n}, nil
	}
	return bad("is no life")
}

// String returns the life as ParseLife reads it.
func (l Life) String() string {
	switch l.Kind {
	case LifeAppend:
		return "append"
	case LifeWindow:
		return "window:" + strconv.Itoa(l.N)
	case LifeLast:
		return "last:" + strconv.Itoa(l.N)
	}
	return "overwrite"
}

// Lasts reports whether a change can still be captured age instants after its
// own, when after more changes have come since.
func (l Life) Lasts(age, after int) bool {
	switch l.Kind {
	case LifeAppend:
		return true
	case LifeWindow:
		return age <= l.N
	case LifeLast:
		return after < l.N
	}
	return after < 1
}
