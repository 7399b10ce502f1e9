package noise

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"freshet/internal/binenc"
)

// encoding is the version of what MarshalBinary writes. Noise is relearned from scratch where
// the stored version differs.
const encoding = 1

// ErrDamaged reports data that this version did not write. A new Memory takes its place
// and learns again in a dozen polls.
var ErrDamaged = errors.New("noise: not a memory of this version")

// MarshalBinary returns the memory in a few kilobytes at most, with a checksum.
func (m *Memory) MarshalBinary() ([]byte, error) {
	w := binenc.Writer{encoding}
	for _, n := range []uint32{m.polls, m.differed, m.spared, m.moves, uint32(m.order), uint32(m.returns)} {
		w.Uvarint(uint64(n))
	}
	w.Uvarint(uint64(m.upto))
	w.Uvarint(uint64(len(m.versions)))
	for _, v := range m.versions {
		w.Uint64(v)
	}
	w.Uvarint(uint64(len(m.places)))
	for _, p := range m.places {
		w.Uint64(p.key)
		w.Byte(byte(p.kind))
		w.Uvarint(uint64(p.habit))
		w.Uvarint(uint64(p.times))
		writeText(&w, p.pattern)
	}
	w.Uvarint(uint64(len(m.lines)))
	for _, c := range m.lines {
		w.Uint32(c.hash)
		w.Uvarint(uint64(c.habit))
	}
	w.Uvarint(uint64(len(m.gaps)))
	for _, g := range m.gaps {
		w.Uint64(g.key)
		w.Uvarint(uint64(g.habit))
		w.Uvarint(uint64(g.times))
		w.Byte(g.added)
		w.Byte(g.again)
		writeText(&w, g.sample)
	}
	w.Checksum()
	return w, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. If that is damaged it returns
// ErrDamaged and leaves the memory as it was.
func (m *Memory) UnmarshalBinary(data []byte) error {
	r, err := binenc.Open(encoding, data)
	if err != nil {
		return ErrDamaged
	}
	var read Memory
	read.polls, read.differed, read.spared, read.moves = number(r), number(r), number(r), number(r)
	read.order, read.returns = habit(number(r)), habit(number(r))
	read.upto = int64(r.UvarintMax(math.MaxInt64))
	for range r.Count(mostVersions, 1) {
		read.versions = append(read.versions, r.Uint64())
	}
	for range r.Count(mostPlaces, 1) {
		p := place{key: r.Uint64(), kind: Kind(r.Byte()), habit: habit(number(r)), times: number(r), pattern: readText(r)}
		r.Require(p.kind < kinds)
		read.places = append(read.places, p)
	}
	for range r.Count(mostComers, 1) {
		read.lines = append(read.lines, comer{hash: r.Uint32(), habit: habit(number(r))})
	}
	for range r.Count(mostGaps, 1) {
		read.gaps = append(read.gaps, gap{key: r.Uint64(), habit: habit(number(r)), times: number(r), added: r.Byte(), again: r.Byte(), sample: readText(r)})
	}
	if r.Close() != nil {
		return ErrDamaged
	}
	*m = read
	return nil
}

func number(r *binenc.Reader) uint32 { return uint32(r.UvarintMax(math.MaxUint32)) }

// writeText appends a text without what is not valid UTF-8, which readText refuses.
func writeText(w *binenc.Writer, text string) { w.String(strings.ToValidUTF8(text, "")) }

func readText(r *binenc.Reader) string {
	text := r.String(mostPattern)
	r.Require(utf8.ValidString(text))
	return text
}
