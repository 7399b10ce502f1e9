// Package column keeps values by small numbers that are given out from 0 on, in pieces.
// A slice that grows is copied, and for a while takes more than twice what it holds: with
// millions of values that is what a program runs out of memory by. A column that grows
// moves nothing but the values of its first piece, and has room to spare for one piece at
// most.
package column

// A piece has so many values.
const (
	bits = 10
	size = 1 << bits
)

// An Of is values by a number each. The zero Of holds none.
type Of[K ~int32, T any] struct {
	pieces [][]T
	n      int
}

// Len returns how many values there are.
func (c *Of[K, T]) Len() int { return c.n }

// At returns the value of a number. It stays where it is until a value is added.
func (c *Of[K, T]) At(k K) *T { return &c.pieces[k>>bits][k&(size-1)] }

// Add adds a value, and returns its number.
func (c *Of[K, T]) Add(v T) K {
	at := c.n >> bits
	if at == len(c.pieces) {
		var piece []T
		if at > 0 { // a few values take no more than they need
			piece = make([]T, 0, size)
		}
		c.pieces = append(c.pieces, piece)
	}
	c.pieces[at] = append(c.pieces[at], v)
	c.n++
	return K(c.n - 1)
}

// All yields every number with its value, in order.
func (c *Of[K, T]) All(yield func(K, *T) bool) {
	for at, piece := range c.pieces {
		for i := range piece {
			if !yield(K(at<<bits+i), &piece[i]) {
				return
			}
		}
	}
}
