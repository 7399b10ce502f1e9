package site

// mostRemembered is how large a table becomes, a power of two.
const mostRemembered = 4096

// A recent remembers the hashes that it was told last, in a table that does not grow
// beyond its bound. What it has forgotten counts as new.
type recent struct {
	slots []uint64 // 0 is empty
	used  int
}

// seen reports whether a hash is remembered, and remembers it.
func (r *recent) seen(hash uint64) bool {
	hash = max(hash, 1)
	if 2*r.used >= len(r.slots) && len(r.slots) < mostRemembered {
		r.grow()
	}
	slot := &r.slots[hash&uint64(len(r.slots)-1)]
	if *slot == hash {
		return true
	}
	if *slot == 0 {
		r.used++
	}
	*slot = hash
	return false
}

func (r *recent) grow() {
	old := r.slots
	r.slots, r.used = make([]uint64, max(64, 2*len(old))), 0
	for _, hash := range old {
		if hash == 0 {
			continue
		}
		slot := &r.slots[hash&uint64(len(r.slots)-1)]
		if *slot == 0 {
			r.used++
		}
		*slot = hash
	}
}

// A witness is what was found under an address without one of its parameters.
type witness struct {
	rest  uint64 // the address without the parameter; 0 if there is none
	value uint32 // of the parameter
	exact uint32 // of the text
	loose uint32
}

// witnesses are bounded like recent.
type witnesses struct {
	slots []witness
	used  int
}

// at returns the slot for a rest.
func (w *witnesses) at(rest uint64) *witness {
	if 2*w.used >= len(w.slots) && len(w.slots) < mostRemembered {
		old := w.slots
		w.slots, w.used = make([]witness, max(64, 2*len(old))), 0
		for _, one := range old {
			if one.rest != 0 {
				w.put(one)
			}
		}
	}
	return &w.slots[rest&uint64(len(w.slots)-1)]
}

func (w *witnesses) put(one witness) {
	slot := &w.slots[one.rest&uint64(len(w.slots)-1)]
	if slot.rest == 0 {
		w.used++
	}
	*slot = one
}
