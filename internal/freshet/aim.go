package freshet

import (
	"freshet/internal/invalid"
	"slices"
	"strings"
)

// An Aim is what polls of a source are for, to a policy that can choose. The zero
// Aim is none: what holds for all sources holds for it.
type Aim string

// The aims.
const (
	AimCaptures  Aim = "captures"  // to see as many changes as possible before they are gone
	AimFreshness Aim = "freshness" // to have a copy that is up to date for as much of the time as possible
	AimAge       Aim = "age"       // to have a copy that has been out of date for as short a time as possible
)

// Aims lists the aims; the first is what is meant where none is named.
var Aims = []Aim{AimCaptures, AimFreshness, AimAge}

// ParseAim reads an aim. "" is none.
func ParseAim(s string) (Aim, error) {
	if a := Aim(s); s == "" || slices.Contains(Aims, a) {
		return a, nil
	}
	return "", invalid.Errorf("aim", "%q is not an aim; use %s", s, AimNames())
}

// AimNames returns the aims for people.
func AimNames() string {
	names := make([]string, len(Aims))
	for i, a := range Aims {
		names[i] = string(a)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// AimOf returns the aim that holds for a source: its own, if it has one, and
// otherwise the first of those of its tags. An item without a tag is for all sources.
func AimOf(s Source, byTag []TagLevel) Aim {
	if s.Aim != "" {
		return s.Aim
	}
	for _, t := range byTag {
		if t.Aim != "" && (t.Tag == "" || slices.Contains(s.Tags, t.Tag)) {
			return t.Aim
		}
	}
	return ""
}
