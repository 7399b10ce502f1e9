package shards

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Grow makes room for more brains, so many in all. A new one has nothing until the others keep to less, and a
// stretch and the longest request have passed since, as in every move. Hosts go to other brains by it: whoever
// sits there has to begin anew, and must make no polls until it has.
func (t *Table) Grow(brains int, now time.Time) error {
	switch {
	case brains <= len(t.Seats):
		return fmt.Errorf("the pool has %d shards already", len(t.Seats))
	case brains > Most:
		return fmt.Errorf("a pool has at most %d shards", Most)
	case slices.ContainsFunc(t.Seats, func(s Seat) bool { return s.Unsure }):
		return errors.New("the table of the pool was replaced by an older copy, and not all shards have spoken since")
	}
	if err := Check(t.Budget, brains); err != nil {
		return err
	}
	weights, equal := t.goals(), t.Budget.Polls/float64(len(t.Seats))
	for len(t.Seats) < brains {
		t.Seats, weights = append(t.Seats, Seat{}), append(weights, equal)
	}
	t.Weighed = false // the numbers of sources are others now, and one that comes late is to have its part, too
	t.begin(now, Divide(t.Budget.Polls, weights, true))
	return nil
}
