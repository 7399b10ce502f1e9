package store

import (
	"encoding/binary"

	"freshet/internal/freshet"
)

// A recent is which texts the newest versions of a source have, as far as this process
// has written them: so that a text that is new is known to be without reading anything.
type recent struct {
	from   int64 // the number from which on all versions are known; 0 if none is
	hashes [mostRecent]uint32
}

// mostRecent is how many versions are known. It is as many as pages are held against to
// see whether they flap.
const mostRecent = 16

// add notes the text of a new version.
func (r *recent) add(number int64, text freshet.Hash) {
	if r.from == 0 {
		r.from = number
	}
	r.hashes[number%mostRecent] = shortHash(text)
}

// lacks reports whether it is known that no version from one number to another has a
// text.
func (r *recent) lacks(text freshet.Hash, from, to int64) bool {
	from = max(from, 1)
	if r.from == 0 || r.from > from || to-from >= mostRecent {
		return false
	}
	for n := from; n <= to; n++ {
		if r.hashes[n%mostRecent] == shortHash(text) {
			return false
		}
	}
	return true
}

func shortHash(text freshet.Hash) uint32 { return binary.LittleEndian.Uint32(text[:]) }
