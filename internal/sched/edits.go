package sched

import (
	"slices"

	"freshet/internal/freshet"
)

// Edits returns how often the Scheduler was told of sources by anything but outcomes since it was made, as far as
// those that learn go by it: sources that came, went or moved, and other edits.
func (s *Scheduler) Edits() int { return s.edits }

// Sum returns a number that is the same for two Schedulers if they have the same sources, as far as
// those that learn go by what they are, and hardly ever if not.
func (s *Scheduler) Sum() uint64 { return s.sum }

// noteEdit counts an edit of a source, which is new if nothing was known of it, or if it had gone.
func (s *Scheduler) noteEdit(e *entry, is freshet.Source) {
	was := e.source.whole()
	if e.gone {
		was = freshet.Source{}
	}
	same := was.ID == is.ID && was.URL == is.URL && was.Of == is.Of && (was.Site == nil) == (is.Site == nil) && was.Index == is.Index &&
		slices.Equal(was.Tags, is.Tags) && was.Paused == is.Paused && was.Life == is.Life
	if !same {
		s.edits++
		s.sum += traitsOf(is) - traitsOf(was)
	}
}

// noteRemoval counts that a source goes.
func (s *Scheduler) noteRemoval(e *entry) {
	s.edits++
	s.sum -= traitsOf(e.source.whole())
}

// traitsOf returns what a source adds to a Sum; 0 if it is none.
func traitsOf(s freshet.Source) uint64 {
	if s.ID == "" {
		return 0
	}
	sum := uint64(14695981039346656037) // FNV-1a
	add := func(text string) {
		for i := range len(text) {
			sum = (sum ^ uint64(text[i])) * 1099511628211
		}
		sum = (sum ^ 0x100) * 1099511628211 // which no byte is
	}
	add(string(s.ID))
	add(s.URL)
	add(string(s.Of))
	for _, tag := range s.Tags {
		add(tag)
	}
	kind := uint64(s.Life.Kind)<<3 | bit(s.Site != nil)<<2 | bit(s.Index)<<1 | bit(s.Paused)
	for _, n := range []uint64{kind, uint64(s.Life.For), uint64(s.Life.N)} {
		sum = mixed(sum ^ n)
	}
	return sum
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// mixed spreads the bits of a number over all of it, so that sums of such numbers tell them apart.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
