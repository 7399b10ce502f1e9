package noise

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"unicode/utf8"
)

// encoding is the version of what MarshalBinary writes. A memory of another version
// is learnt anew.
const encoding = 1

// ErrDamaged means that what was to be read is no memory that was written by this
// version. A new Memory takes its place and learns again in a dozen polls.
var ErrDamaged = errors.New("noise: not a memory of this version")

// MarshalBinary returns the memory in a few kilobytes at most, with a checksum.
func (m *Memory) MarshalBinary() ([]byte, error) {
	b := []byte{encoding}
	for _, n := range []uint32{m.polls, m.differed, m.spared, m.moves, uint32(m.order), uint32(m.returns)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(m.upto))
	b = binary.AppendUvarint(b, uint64(len(m.versions)))
	for _, v := range m.versions {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.AppendUvarint(b, uint64(len(m.places)))
	for _, p := range m.places {
		b = binary.LittleEndian.AppendUint64(b, p.key)
		b = append(b, byte(p.kind))
		b = binary.AppendUvarint(b, uint64(p.habit))
		b = binary.AppendUvarint(b, uint64(p.times))
		b = appendText(b, p.pattern)
	}
	b = binary.AppendUvarint(b, uint64(len(m.lines)))
	for _, c := range m.lines {
		b = binary.LittleEndian.AppendUint32(b, c.hash)
		b = binary.AppendUvarint(b, uint64(c.habit))
	}
	b = binary.AppendUvarint(b, uint64(len(m.gaps)))
	for _, g := range m.gaps {
		b = binary.LittleEndian.AppendUint64(b, g.key)
		b = binary.AppendUvarint(b, uint64(g.habit))
		b = binary.AppendUvarint(b, uint64(g.times))
		b = append(b, g.added, g.again)
		b = appendText(b, g.sample)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// appendText writes a text. What is not valid UTF-8 in it would be taken for damage.
func appendText(b []byte, text string) []byte {
	text = strings.ToValidUTF8(text, "")
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// UnmarshalBinary reads what MarshalBinary wrote. If that is damaged it returns
// ErrDamaged and leaves the memory as it was.
func (m *Memory) UnmarshalBinary(data []byte) error {
	if len(data) < 5 || data[0] != encoding {
		return ErrDamaged
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return ErrDamaged
	}
	r := reader{rest: body[1:]}
	var read Memory
	read.polls, read.differed, read.spared, read.moves = r.number(), r.number(), r.number(), r.number()
	read.order, read.returns = habit(r.number()), habit(r.number())
	read.upto = r.long()
	for range r.count(mostVersions) {
		read.versions = append(read.versions, r.fixed64())
	}
	for range r.count(mostPlaces) {
		p := place{key: r.fixed64(), kind: Kind(r.byte()), habit: habit(r.number()), times: r.number(), pattern: r.text()}
		r.bad = r.bad || p.kind >= kinds
		read.places = append(read.places, p)
	}
	for range r.count(mostComers) {
		read.lines = append(read.lines, comer{hash: r.fixed32(), habit: habit(r.number())})
	}
	for range r.count(mostGaps) {
		read.gaps = append(read.gaps, gap{key: r.fixed64(), habit: habit(r.number()), times: r.number(), added: r.byte(), again: r.byte(), sample: r.text()})
	}
	if r.bad || len(r.rest) > 0 {
		return ErrDamaged
	}
	*m = read
	return nil
}

// A reader takes a memory apart. After the first fault all that it reads is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return make([]byte, n)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte      { return r.take(1)[0] }
func (r *reader) fixed32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) fixed64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) number() uint32 { return uint32(r.upTo(1<<32 - 1)) }
func (r *reader) long() int64    { return int64(r.upTo(1<<63 - 1)) }

func (r *reader) upTo(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > most {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads how many of something follow.
func (r *reader) count(most int) int {
	n := r.number()
	if n > uint32(most) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count(mostPattern)
	text := string(r.take(n))
	r.bad = r.bad || !utf8.ValidString(text)
	return text
}
