// Package binenc writes and reads the compact binary form of stored state and of
// frames between processes: varints, little-endian words and length-prefixed strings.
//
// A [Writer] appends. A [Reader] checks bounds and keeps its first error, so that
// a decoder reads all its fields and asks once whether the input was sound.
package binenc

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// ErrMalformed reports input that ends early, goes on too long, or is out of range.
var ErrMalformed = errors.New("malformed binary data")

// A Writer is the bytes written so far. The zero Writer is empty and ready for use.
type Writer []byte

// Byte appends b.
func (w *Writer) Byte(b byte) { *w = append(*w, b) }

// Bool appends a byte that is 1 or 0.
func (w *Writer) Bool(v bool) {
	if v {
		w.Byte(1)
	} else {
		w.Byte(0)
	}
}

// Uvarint appends an unsigned varint.
func (w *Writer) Uvarint(n uint64) { *w = binary.AppendUvarint(*w, n) }

// Varint appends a signed, zigzag-encoded varint.
func (w *Writer) Varint(n int64) { *w = binary.AppendVarint(*w, n) }

// Uint32 appends 4 bytes.
func (w *Writer) Uint32(n uint32) { *w = binary.LittleEndian.AppendUint32(*w, n) }

// Uint64 appends 8 bytes.
func (w *Writer) Uint64(n uint64) { *w = binary.LittleEndian.AppendUint64(*w, n) }

// Float64 appends 8 bytes.
func (w *Writer) Float64(x float64) { w.Uint64(math.Float64bits(x)) }

// Float32 appends 4 bytes.
func (w *Writer) Float32(x float32) { w.Uint32(math.Float32bits(x)) }

// Raw appends b without its length.
func (w *Writer) Raw(b []byte) { *w = append(*w, b...) }

// String appends the length of s as an unsigned varint, and s.
func (w *Writer) String(s string) {
	w.Uvarint(uint64(len(s)))
	*w = append(*w, s...)
}

// Flags appends up to 64 booleans as the bits of an unsigned varint.
func (w *Writer) Flags(flags ...bool) {
	var bits uint64
	for i, set := range flags {
		if set {
			bits |= 1 << i
		}
	}
	w.Uvarint(bits)
}

// Checksum appends the CRC-32 of all that was written. [Open] verifies it.
func (w *Writer) Checksum() { w.Uint32(crc32.ChecksumIEEE(*w)) }

// A Reader reads what a Writer wrote. After its first error every method returns a
// zero value.
type Reader struct {
	rest []byte
	bad  bool
}

// NewReader returns a Reader of data. It does not copy data.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Open returns a Reader of what lies between the version byte that data begins with and
// the checksum that it ends with.
func Open(version byte, data []byte) (*Reader, error) {
	const trailer = 4
	if len(data) < 1+trailer || data[0] != version {
		return nil, ErrMalformed
	}
	body := data[:len(data)-trailer]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, ErrMalformed
	}
	return NewReader(body[1:]), nil
}

// Fail sets the error, for values that are out of the caller's range.
func (r *Reader) Fail() { r.rest, r.bad = nil, true }

// Require fails the Reader unless ok is true.
func (r *Reader) Require(ok bool) {
	if !ok {
		r.Fail()
	}
}

// Err returns [ErrMalformed] if a method has failed.
func (r *Reader) Err() error {
	if r.bad {
		return ErrMalformed
	}
	return nil
}

// Len returns the number of bytes that are left.
func (r *Reader) Len() int { return len(r.rest) }

// Rest returns the bytes that are left.
func (r *Reader) Rest() []byte { return r.rest }

// Close returns [ErrMalformed] if a method has failed or bytes are left.
func (r *Reader) Close() error {
	if r.bad || len(r.rest) > 0 {
		return ErrMalformed
	}
	return nil
}

// Bytes returns the next n bytes, which are not copied.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.Fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Bool reads a byte that has to be 1 or 0.
func (r *Reader) Bool() bool {
	b := r.Byte()
	r.Require(b <= 1)
	return b == 1
}

// Uvarint reads an unsigned varint.
func (r *Reader) Uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// UvarintMax reads an unsigned varint of at most limit.
func (r *Reader) UvarintMax(limit uint64) uint64 {
	n := r.Uvarint()
	if n > limit {
		r.Fail()
		return 0
	}
	return n
}

// Varint reads a signed, zigzag-encoded varint.
func (r *Reader) Varint() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Uint32 reads 4 bytes.
func (r *Reader) Uint32() uint32 {
	if len(r.rest) < 4 {
		r.Fail()
		return 0
	}
	n := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return n
}

// Uint64 reads 8 bytes.
func (r *Reader) Uint64() uint64 {
	if len(r.rest) < 8 {
		r.Fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

// Float64 reads 8 bytes.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Uint64()) }

// Float32 reads 4 bytes.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Uint32()) }

// Count reads an unsigned varint: the number of elements that follow, at most limit, of which
// each takes at least size bytes.
func (r *Reader) Count(limit, size int) int {
	n := r.UvarintMax(uint64(limit))
	if n > uint64(len(r.rest)/size) {
		r.Fail()
		return 0
	}
	return int(n)
}

// String reads what [Writer.String] wrote, of at most limit bytes.
func (r *Reader) String(limit int) string { return string(r.Bytes(r.UvarintMax(uint64(limit)))) }

// Flags reads what [Writer.Flags] wrote.
func (r *Reader) Flags(flags ...*bool) {
	bits := r.Uvarint()
	for i, set := range flags {
		*set = bits&(1<<i) != 0
	}
}
