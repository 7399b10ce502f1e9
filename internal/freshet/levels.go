package freshet

import (
	"slices"

	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/timetable"
)

// A TagLevel is what is wanted of all sources with a tag: a service level, an objective, or
// both.
type TagLevel struct {
	Tag   string
	Level objective.ServiceLevel
	Aim   objective.Objective
}

// LevelOf returns the service level that holds for a source: its own, if it has
// one, and otherwise the strictest of those of its tags.
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

// ObjectiveOf returns the objective that holds for a source: its own, if it has one, and
// otherwise the first of those of its tags. An item without a tag is for all sources.
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

// A TagStrategy is a strategy for all sources with a tag that have none of their own.
type TagStrategy struct {
	Tag      string
	Strategy timetable.Strategy
}

// StrategyOf returns the strategy that holds for a source: its own, if it has one, and
// otherwise the first in the list that is of one of its tags.
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

// Apart reports whether no policy chooses polls of the source: it is paused, or it is
// polled by its strategy.
func (s *Source) Apart() bool { return s.Paused || !s.Strategy.IsZero() }
