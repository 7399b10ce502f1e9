package store

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"freshet/internal/binenc"
)

const (
	// copyUnit is the least that is copied. Places in the base are found by
	// the hash of so many bytes.
	copyUnit = 8

	// copyStride is how far apart those places are. A longer common passage
	// is found at one of them and grown to both sides.
	copyStride = 4

	// mostLiterals is how many new bytes a body may have to be told by copies.
	// They are stored as they are; if there are more of them zstd pays.
	mostLiterals = 256
)

// A copier tells a body by what it has in common with another: the fast way
// for a page in which a date, a count or a line has changed, which is what
// most changes are. It takes a fifth of the time of zstd, whose tables have to
// be filled anew for each history, and is no longer.
//
// The form is a series of steps: the number of new bytes and the bytes, then
// the length of a copy and where it begins, counted from the end of the copy
// before. It ends after new bytes.
type copier struct {
	tables sync.Pool // of *[]uint32
}

// encode appends body as copies from base to dst. It gives up, and reports
// false, if too much of the body is new.
func (c *copier) encode(dst, body, base []byte) ([]byte, bool) {
	if len(base) < 2*copyUnit {
		return dst, false
	}
	places, ok := c.tables.Get().(*[]uint32)
	if !ok {
		places = new([]uint32)
	}
	defer c.tables.Put(places)
	at := newPlaces(places, base)

	fresh, from, expect := 0, 0, 0 // new bytes so far; where those not written begin; where the next copy is likely
	for i := 0; i+copyUnit <= len(body); {
		p, found := at.find(body, base, i, expect+i-from)
		if !found {
			if i++; fresh+i-from > mostLiterals {
				return dst, false
			}
			continue
		}
		start, length := grow(body, base, from, i, p)
		p -= i - start
		dst = binary.AppendUvarint(dst, uint64(start-from))
		dst = append(dst, body[from:start]...)
		dst = binary.AppendUvarint(dst, uint64(length))
		dst = binary.AppendVarint(dst, int64(p-expect))
		fresh += start - from
		i = start + length
		from, expect = i, p+length
	}
	if fresh+len(body)-from > mostLiterals {
		return dst, false
	}
	dst = binary.AppendUvarint(dst, uint64(len(body)-from))
	return append(dst, body[from:]...), true
}

// places are the positions in a base by the hash of what is there, plus one.
type places struct {
	table []uint32
	shift int
}

// newPlaces fills the table with the positions in base.
func newPlaces(room *[]uint32, base []byte) places {
	log := max(8, bits.Len(uint(len(base)/copyStride)))
	if len(*room) < 1<<log {
		*room = make([]uint32, 1<<log)
	}
	t := places{table: (*room)[:1<<log], shift: 64 - log}
	clear(t.table)
	for i := 0; i+copyUnit <= len(base); i += copyStride {
		t.table[t.slot(binary.LittleEndian.Uint64(base[i:]))] = uint32(i + 1)
	}
	return t
}

func (t places) slot(v uint64) uint64 { return v * 0x9e3779b185ebca87 >> t.shift }

// find returns where in base the next bytes of body are, looking first where
// they would be if the new ones had replaced as many old ones.
func (t places) find(body, base []byte, i, likely int) (int, bool) {
	v := binary.LittleEndian.Uint64(body[i:])
	if likely+copyUnit <= len(base) && binary.LittleEndian.Uint64(base[likely:]) == v {
		return likely, true
	}
	p := int(t.table[t.slot(v)]) - 1
	return p, p >= 0 && binary.LittleEndian.Uint64(base[p:]) == v
}

// grow returns the whole passage that body has at i in common with base at p:
// where it begins, not before from, and how long it is.
func grow(body, base []byte, from, i, p int) (start, length int) {
	length = copyUnit
	for i+length+8 <= len(body) && p+length+8 <= len(base) {
		differ := binary.LittleEndian.Uint64(body[i+length:]) ^ binary.LittleEndian.Uint64(base[p+length:])
		if differ != 0 {
			break
		}
		length += 8
	}
	for i+length < len(body) && p+length < len(base) && body[i+length] == base[p+length] {
		length++
	}
	for i > from && p > 0 && body[i-1] == base[p-1] {
		i--
		p--
		length++
	}
	return i, length
}

// decodeCopies returns the body of a given size that encode told by base.
func decodeCopies(steps, base []byte, size int64) ([]byte, error) {
	body := make([]byte, 0, size)
	expect := int64(0)
	for r := binenc.NewReader(steps); ; {
		body = append(body, r.Bytes(r.UvarintMax(uint64(size-int64(len(body)))))...)
		if r.Close() == nil {
			return body, nil
		}
		length, jump := int64(r.UvarintMax(uint64(size-int64(len(body))))), r.Varint()
		if r.Err() != nil || jump < -expect || jump > int64(len(base))-expect || length > int64(len(base))-expect-jump {
			return nil, errFrame
		}
		from := expect + jump
		expect = from + length
		body = append(body, base[from:expect]...)
	}
}
