package diskfault

import (
	"math/rand/v2"
)

// sector is the largest piece of a write that the power cannot tear.
const sector = 512

// An inode is a file in memory, whatever its name.
type inode struct {
	data    []byte   // as reads show it
	safe    []byte   // as it is on the platter
	pending []change // what leads from safe to data
	handles []*handle
	shm     *shm
}

// A change is a write, or a cut if cut is set.
type change struct {
	offset int64
	bytes  []byte
	cut    bool // to the offset
}

// do carries out a change on bytes, and returns them.
func (c change) do(b []byte) []byte {
	if c.cut {
		return resized(b, c.offset)
	}
	if end := c.offset + int64(len(c.bytes)); end > int64(len(b)) {
		b = resized(b, end)
	}
	copy(b[c.offset:], c.bytes)
	return b
}

// resized returns b with n bytes. New ones are zero.
func resized(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n]
	}
	from := len(b)
	b = append(b, make([]byte, int(n)-from)...)
	return b
}

// abandon drops the locks of a process that has ended.
func (f *inode) abandon() { f.handles, f.shm = nil, nil }

// change carries out a write or a cut, unsynced.
func (f *inode) change(c change) {
	f.data = c.do(f.data)
	f.pending = append(f.pending, c)
}

// sync brings the platter up to date.
func (f *inode) sync() {
	for _, c := range f.pending {
		f.safe = c.do(f.safe)
	}
	f.pending = nil
}

// failSync is a sync that failed: some of the changes reached the platter, and
// the others are forgotten, although reads still show them.
func (f *inode) failSync(rng *rand.Rand) {
	f.tear(rng)
	f.pending = nil
}

// lose leaves what is on the platter, with an arbitrary part of what was not
// synced.
func (f *inode) lose(rng *rand.Rand) {
	f.tear(rng)
	f.pending = nil
	f.data = append([]byte(nil), f.safe...)
}

// tear carries out an arbitrary part of the pending changes on the platter. How
// much of it differs from time to time: nothing at all, all but the end, pieces.
func (f *inode) tear(rng *rand.Rand) {
	if len(f.pending) == 0 {
		return
	}
	keep := [...]float64{0, 0.5, 0.9, 1}[rng.IntN(4)]
	if rng.IntN(2) == 0 { // in order, and then no more
		n := rng.IntN(len(f.pending) + 1)
		for _, c := range f.pending[:n] {
			f.safe = c.do(f.safe)
		}
		if n == len(f.pending) {
			return
		}
		f.pending = f.pending[n : n+1]
	}
	for _, c := range f.pending {
		for _, piece := range c.sectors() {
			if rng.Float64() < keep {
				f.safe = piece.do(f.safe)
			}
		}
	}
}

// sectors returns the pieces of a change that the power cannot tear.
func (c change) sectors() (pieces []change) {
	if c.cut {
		return []change{c}
	}
	for b, offset := c.bytes, c.offset; len(b) > 0; {
		n := min(int64(len(b)), sector-offset%sector)
		pieces = append(pieces, change{offset: offset, bytes: b[:n]})
		b, offset = b[n:], offset+n
	}
	return pieces
}
