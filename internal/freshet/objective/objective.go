// Package objective holds the parameters of polling that a user sets for a source: its
// objective, how long its changes stay visible, how urgent they are, and the service level.
package objective

import (
	"slices"
	"strings"

	"freshet/internal/invalid"
)

// An Objective is what a policy optimizes for a source. The zero Objective inherits the one of
// all sources.
type Objective string

// The objectives.
const (
	Captures  Objective = "captures"  // capture the most changes before they disappear
	Freshness Objective = "freshness" // maximize the time in which the copy is up to date
	Age       Objective = "age"       // minimize the time since the copy went out of date
)

// Objectives lists all objectives, the default first.
var Objectives = []Objective{Captures, Freshness, Age}

// ParseObjective parses the name of an objective. The empty string is the zero Objective.
func ParseObjective(s string) (Objective, error) {
	if a := Objective(s); s == "" || slices.Contains(Objectives, a) {
		return a, nil
	}
	return "", invalid.Errorf("aim", "%q is not an aim; use %s", s, ObjectiveNames())
}

// ObjectiveNames returns the names of all objectives, for error messages.
func ObjectiveNames() string {
	names := make([]string, len(Objectives))
	for i, a := range Objectives {
		names[i] = string(a)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
