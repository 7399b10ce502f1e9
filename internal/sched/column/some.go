package column

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
