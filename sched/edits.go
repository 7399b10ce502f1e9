package sched

import (
	"slices"

	"freshet"
)

// Edits are how often a Scheduler was told of sources by anything but outcomes, as far as those that
// learn go by it.
type Edits struct {
	Seats  int // sources that came, went or moved: they lie in other slots, or at other sites, than after a start
	Traits int // other edits
}

// Edits returns how often it was told of sources since it was made.
func (s *Scheduler) Edits() Edits { return s.edits }

// noteEdit counts an edit of a source, which was new if nothing was known of it.
func (s *Scheduler) noteEdit(was, is freshet.Source) {
	switch {
	case was.ID != is.ID, was.URL != is.URL, was.Of != is.Of, (was.Site == nil) != (is.Site == nil), was.Index != is.Index, !slices.Equal(was.Tags, is.Tags):
		s.edits.Seats++
	case was.Paused != is.Paused, was.Life != is.Life:
		s.edits.Traits++
	}
}
