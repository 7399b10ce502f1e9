package freshet

import (
	"slices"

	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/timetable"
)

// A TagLevel sets a service level, an objective, or both for all sources with a tag.
type TagLevel struct {
	Tag   string
	Level objective.ServiceLevel
	Aim   objective.Objective
}

// LevelOf returns the service level of a source: its own, or else the strictest of its tags.
func LevelOf(s Source, byTag []TagLevel) objective.ServiceLevel {
	if s.Level != (objective.ServiceLevel{}) {
		return s.Level
	}
	var strictest objective.ServiceLevel
	for _, t := range byTag {
		if slices.Contains(s.Tags, t.Tag) && t.Level.Stricter(strictest) {
			strictest = t.Level
		}
	}
	return strictest
}

// ObjectiveOf returns the objective of a source: its own, or else the first of its tags. An
// item without a tag applies to all sources.
func ObjectiveOf(s Source, byTag []TagLevel) objective.Objective {
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

// A TagStrategy sets the strategy of all sources with a tag that have none of their own.
type TagStrategy struct {
	Tag      string
	Strategy timetable.Strategy
}

// StrategyOf returns the strategy of a source: its own, or else the first of its tags.
func StrategyOf(s Source, byTag []TagStrategy) timetable.Strategy {
	if !s.Strategy.IsZero() {
		return s.Strategy
	}
	for _, t := range byTag {
		if slices.Contains(s.Tags, t.Tag) {
			return t.Strategy
		}
	}
	return timetable.Strategy{}
}

// Apart reports whether the policy does not choose polls of the source: it is paused or has a
// strategy.
func (s *Source) Apart() bool { return s.Paused || !s.Strategy.IsZero() }
