package freshet

import (
	"cmp"
	"slices"
)

// A TagLevel is what is wanted of all sources with a tag: a service level, an aim, or
// both.
type TagLevel struct {
	Tag   string
	Level ServiceLevel
	Aim   Aim
}

// LevelOf returns the service level that holds for a source: its own, if it has
// one, and otherwise the strictest of those of its tags.
func LevelOf(s Source, byTag []TagLevel) ServiceLevel {
	if s.Level != (ServiceLevel{}) {
		return s.Level
	}
	var strictest ServiceLevel
	for _, t := range byTag {
		if slices.Contains(s.Tags, t.Tag) && t.Level.Stricter(strictest) {
			strictest = t.Level
		}
	}
	return strictest
}

// Stricter reports whether l takes more polls to keep than o. What counts is
// the time between polls that would do for a log, in which every change waits
// for the next poll: the time allowed, over the share. Of two levels for which
// that is the same, the one with the greater share is stricter.
func (l ServiceLevel) Stricter(o ServiceLevel) bool {
	if l == (ServiceLevel{}) || o == (ServiceLevel{}) {
		return l != ServiceLevel{}
	}
	gap := func(l ServiceLevel) float64 { return l.Within.Seconds() / l.Share }
	return cmp.Or(cmp.Compare(gap(l), gap(o)), cmp.Compare(o.Share, l.Share)) < 0
}
