package sites

// mostRemembered is how large a table becomes, a power of two.
const mostRemembered = 4096

// A table remembers what it was told last, by hashes, and does not grow beyond its
// bound. What it has forgotten counts as new.
type table[V any] struct {
	slots []slot[V]
	used  int
}

type slot[V any] struct {
	value V
	hash  uint64 // 0 is empty
}

// A recent is a table of nothing but hashes.
type recent = table[struct{}]

// remember notes a value, unless there is one for the hash: then it returns that.
func (t *table[V]) remember(hash uint64, value V) (before V, known bool) {
	hash = max(hash, 1)
	if 2*t.used >= len(t.slots) && len(t.slots) < mostRemembered {
		old := t.slots
		t.slots, t.used = make([]slot[V], max(64, 2*len(old))), 0
		for _, s := range old {
			if s.hash != 0 {
				t.put(s)
			}
		}
	}
	if s := t.slots[t.at(hash)]; s.hash == hash {
		return s.value, true
	}
	t.put(slot[V]{value: value, hash: hash})
	return before, false
}

// has reports whether there is a value for a hash.
func (t *table[V]) has(hash uint64) bool {
	hash = max(hash, 1)
	return len(t.slots) > 0 && t.slots[t.at(hash)].hash == hash
}

// at returns the slot of a hash: one of four, and if others have them all, the one that is
// taken from another.
func (t *table[V]) at(hash uint64) int {
	last := uint64(len(t.slots) - 1)
	for i := range uint64(4) {
		if at := (hash + i) & last; t.slots[at].hash == hash || t.slots[at].hash == 0 {
			return int(at)
		}
	}
	return int((hash + hash>>62) & last)
}

func (t *table[V]) put(s slot[V]) {
	at := &t.slots[t.at(s.hash)]
	if at.hash == 0 {
		t.used++
	}
	*at = s
}

// A witness is what was found under an address without one of its parameters.
type witness struct {
	value        uint32 // of the parameter
	exact, loose uint32 // of the text
}
