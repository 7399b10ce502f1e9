package listing

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// ErrDamaged means that pieces are not what was saved, or not all of it. A new Index
// takes their place; to it all pages are new.
var ErrDamaged = errors.New("listing: not an index that was saved by this version")

// A Piece is a part of an Index in storage, known by its number.
type Piece struct {
	Number uint32
	Data   []byte
}

// encoding is the version of what is saved.
const encoding = 1

// The kinds of pieces.
const (
	headPiece byte = iota // number 0: which pieces count, and what they come to
	basePiece             // pages by key
	logPiece              // what changed since, in its order
)

const (
	pagesInBase = 4096     // at most, so that a piece has some 50 KB
	fullLog     = 4 << 10  // bytes from which on a log piece is not written again
	leastLog    = 16 << 10 // bytes of log that are never worth a new base
)

// What happens to a page in a log piece. opAt says when what follows happened.
const (
	opAt byte = iota
	opAdd
	opRedate
	opGone
)

// saving is how an Index stands to its pieces. Those from first to last count, the
// base and then the log.
type saving struct {
	first, last uint32 // 0 if nothing was ever saved
	baseBytes   int
	logBytes    int    // in pieces that are full
	tail        []byte // of the log: in the last piece, if that is not full, and what is not saved
	open        bool   // the last piece is a log piece that is not full
	dirty       bool

	next *saving // how it will stand when what Unsaved returned is stored
}

// begin begins what a reading changes.
func (s *saving) begin(at int64) {
	s.dirty = true
	s.tail = binary.AppendVarint(append(s.tail, opAt), at)
}

// log adds a change to the log.
func (s *saving) log(op byte, p page, at int64) {
	s.tail = binary.LittleEndian.AppendUint64(append(s.tail, op), uint64(p.key))
	if op != opGone {
		s.tail = appendDate(s.tail, p.date, at)
	}
}

// appendDate adds a date by its distance from another time.
func appendDate(b []byte, date, from int64) []byte {
	if date == undated {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, zigzag(date-from)+1)
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

func zagzig(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Unsaved returns the pieces to store, and those to delete, so that what is stored is
// the index as it is now: what changed since Saved, and now and then all of it. They
// belong into one transaction. Nothing to store means that nothing has changed.
func (x *Index) Unsaved() (put []Piece, drop []uint32) {
	if !x.dirty {
		return nil, nil
	}
	s := x.saving
	s.next, s.dirty = nil, false
	if s.logBytes+len(s.tail) > max(s.baseBytes, leastLog) || s.last == 0 {
		for n := s.first; n <= s.last && s.last > 0; n++ {
			drop = append(drop, n)
		}
		s.first = s.last + 1
		s.logBytes, s.tail, s.open, s.baseBytes = 0, nil, false, 0
		for chunk := range slices.Chunk(x.pages, pagesInBase) {
			s.last++
			piece := seal(basePiece, s.last, appendPages(nil, chunk))
			s.baseBytes += len(piece.Data)
			put = append(put, piece)
		}
		if len(x.pages) == 0 {
			s.last++
			put = append(put, seal(basePiece, s.last, appendPages(nil, nil)))
		}
	} else {
		if !s.open {
			s.last++
		}
		put = append(put, seal(logPiece, s.last, s.tail))
		s.open = len(s.tail) < fullLog
		if !s.open {
			s.logBytes += len(s.tail)
			s.tail = nil
		}
	}
	x.next = &s
	return append(put, x.head(s)), drop
}

// Saved says that what Unsaved returned is stored. Nothing may have been kept since.
func (x *Index) Saved() {
	if x.next != nil {
		x.saving = *x.next
	}
}

// head returns the piece that says which others count, and what they come to.
func (x *Index) head(s saving) Piece {
	var b []byte
	for _, n := range []uint64{uint64(s.first), uint64(s.last), uint64(len(x.pages)), x.digest} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return seal(headPiece, 0, b)
}

// seal makes a piece that shows if it is damaged, or takes the place of another.
func seal(kind byte, number uint32, body []byte) Piece {
	b := binary.LittleEndian.AppendUint32([]byte{encoding, kind}, number)
	b = append(b, body...)
	return Piece{number, binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))}
}

// appendPages adds pages in the order of their keys, each by its distance from the one
// before.
func appendPages(b []byte, pages []page) []byte {
	var before page
	for _, p := range pages {
		b = binary.AppendUvarint(b, uint64(p.key-before.key))
		b = binary.AppendVarint(b, p.since-before.since)
		b = appendDate(b, p.date, p.since)
		before = p
	}
	return b
}
