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

// A Some is values of some numbers. Where neighbours have none, none takes any memory. The
// zero Some holds none.
type Some[K ~int32, T any] struct{ pieces []*part[T] }

// A part is the values of some numbers that are neighbours.
type part[T any] struct {
	has [size / 64]uint64
	n   int
	of  []T
}

// At returns the value of a number, and nil if it has none. It stays where it is until
// another is made.
func (c *Some[K, T]) At(k K) *T {
	if int(k>>bits) >= len(c.pieces) {
		return nil
	}
	p, i := c.pieces[k>>bits], k&(size-1)
	if p == nil || p.has[i>>6]>>(i&63)&1 == 0 {
		return nil
	}
	return &p.of[i]
}

// Make returns the value of a number, which is zero if it had none.
func (c *Some[K, T]) Make(k K) *T {
	if v := c.At(k); v != nil {
		return v
	}
	at, i := int(k>>bits), int(k&(size-1))
	for at >= len(c.pieces) {
		c.pieces = append(c.pieces, nil)
	}
	if c.pieces[at] == nil {
		c.pieces[at] = &part[T]{}
	}
	p := c.pieces[at]
	if i >= len(p.of) {
		room := size
		for at == 0 && room/2 > i { // a few values take no more than they need
			room /= 2
		}
		grown := make([]T, room)
		copy(grown, p.of)
		p.of = grown
	}
	p.has[i>>6] |= 1 << (i & 63)
	p.n++
	return &p.of[i]
}

// Drop forgets the value of a number, if it has one.
func (c *Some[K, T]) Drop(k K) {
	v := c.At(k)
	if v == nil {
		return
	}
	var zero T
	*v = zero
	p, i := c.pieces[k>>bits], k&(size-1)
	p.has[i>>6] &^= 1 << (i & 63)
	if p.n--; p.n == 0 {
		c.pieces[k>>bits] = nil
	}
}
