package store

// A seldom is a value that few sources have, and takes little room where there is none. It is
// never changed in its place, only replaced: copies of an entry can share it.
type seldom[T comparable] struct{ is *T }

// get returns the value, the zero one if there is none.
func (s seldom[T]) get() (v T) {
	if s.is != nil {
		v = *s.is
	}
	return v
}

// set replaces the value. One that is equal stays, so that an entry that has not changed equals the
// one before.
func (s *seldom[T]) set(v T) {
	var none T
	switch {
	case v == none:
		s.is = nil
	case s.is == nil || *s.is != v:
		s.is = &v
	}
}
