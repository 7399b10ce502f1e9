// Package ranking says whose turn it is: the parts that policies share. A [Ranking]
// finds the sources whose polls are worth most at an instant, [Parts] are several that
// are made one by one, a [Queue] finds those that are due first, and [Instants] counts
// the time that policies decide in.
package ranking

import "freshet/internal/freshet"

// Grown returns s, long enough to have an element for slot.
func Grown[T any](s []T, slot freshet.Slot) []T {
	for int(slot) >= len(s) {
		var zero T
		s = append(s, zero)
	}
	return s
}
