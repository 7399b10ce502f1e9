package daemon

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"freshet/internal/freshet"
)

// A Basis is a copy of what was learnt that somebody started from, told apart from all others by all
// that it says.
type Basis struct {
	Upto freshet.Cursor `json:"upto"` // the last outcome that it rests on
	Sum  uint64         `json:"sum"`
}

// A lineage is from which copies all that a brain knows follows by the log of outcomes alone. Whoever
// starts from one of them, with the same sources, and is told of the same outcomes knows the same to
// the bit: a learner is a function of the log.
type lineage struct {
	edits  int  // and lessons, up to the copies
	blurs  bool // it was told of outcomes by other dates than the log has
	copies []Basis
	heir   int // how many of them are from before it took over: of others from then it does not know
}

// mostCopies bounds them: those of half a year.
const mostCopies = 1 << 16

// beginLineage notes that all sources were put as they lay in a copy, if there is one. A lesson that is
// given from then on is not in it.
func (b *brain) beginLineage(from Basis) {
	b.lineage = lineage{edits: b.edits()}
	if from.Upto > 0 {
		b.lineage.copies = []Basis{from}
	}
	b.origin.Store(&from)
}

// edits returns how often it was told something but outcomes.
func (b *brain) edits() int { return b.sched.Edits() + b.taught }

// follows reports whether all that is known follows from a copy.
func (b *brain) follows(from Basis) bool {
	return !b.lineage.blurs && !b.dates.shifted() && b.edits() == b.lineage.edits && slices.Contains(b.lineage.copies, from)
}

// basis returns the newest copy from which all that is known follows, if there is one.
func (b *brain) basis() (newest Basis, ok bool) {
	if n := len(b.lineage.copies); n > 0 {
		newest = b.lineage.copies[n-1]
	}
	return newest, b.follows(newest)
}

// rest notes a copy of what is known. It was taken down after so many edits.
func (b *brain) rest(on Basis, edits int) {
	if edits != b.lineage.edits {
		b.lineage.copies, b.lineage.heir, b.lineage.edits = nil, 0, edits
	}
	if len(b.lineage.copies) == mostCopies {
		b.lineage.copies, b.lineage.heir = slices.Delete(b.lineage.copies, 0, 1), max(0, b.lineage.heir-1)
	}
	b.lineage.copies = append(b.lineage.copies, on)
	first := b.lineage.copies[b.lineage.heir]
	b.origin.Store(&first)
}

// Origin returns the oldest copy of what was learnt from which all that the daemon knows follows by the
// log, and from which on it knows all copies: who goes by an older one may go by one that it does not know. It is
// as it was when the daemon last saved; zero if there is none.
func (d *Daemon) Origin() Basis {
	if from := d.brain.origin.Load(); from != nil {
		return *from
	}
	return Basis{}
}

// sumOf returns what a belief adds to the sum of its copy, in whatever order.
func sumOf(id freshet.SourceID, sealed []byte) uint64 {
	x := uint64(crc32.ChecksumIEEE([]byte(id)))<<32 | uint64(binary.LittleEndian.Uint32(sealed[len(sealed)-4:]))
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
