package lab

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A Placement says where in its window a change is put that its source does not
// date: nobody knows when it happened, only that it was between two looks.
type Placement uint8

// The placements.
const (
	Spread Placement = iota // anywhere, by chance
	Early                   // as soon as it can have happened
	Late                    // as late as it can have happened
)

var placements = [...]string{"spread", "early", "late"}

// String returns the placement in a word.
func (p Placement) String() string {
	if int(p) >= len(placements) {
		return fmt.Sprintf("unknown(%d)", p)
	}
	return placements[p]
}

// ParsePlacement reads what String wrote.
func ParsePlacement(s string) (Placement, error) {
	for i, name := range placements {
		if s == name {
			return Placement(i), nil
		}
	}
	return 0, invalid.Errorf("place", "unknown placement %q; use one of %s", s, strings.Join(placements[:], ", "))
}

// place returns when a change happened, as far as can be told, and whether its
// source says so itself. It was after since, and before the poll ended: an
// answer is on its way before it has arrived.
func (r LogOptions) place(since int64, o *freshet.Outcome) (at int64, dated bool) {
	first := since + 1
	last := max(first, o.Ended.UnixNano()-1)
	if at := o.Modified.UnixNano(); !o.Modified.IsZero() && at > since && !o.Modified.After(o.Ended) {
		return min(at, last), true
	}
	switch r.Place {
	case Early:
		return first, false
	case Late:
		return last, false
	}
	// A change is placed by what it is and not by its turn, so that a part of
	// the log gives the same history as the whole.
	own := rand.NewPCG(r.Seed^hashOf(string(o.Source)), uint64(o.Ended.UnixNano()))
	return first + rand.New(own).Int64N(last-first+1), false
}

// hashOf returns a number for a name.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
