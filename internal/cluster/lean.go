package cluster

import (
	"encoding/binary"
	"errors"
	"time"

	"freshet/internal/freshet"
)

// encoding is the newest form of orders and findings that this end reads. From 2 on they are lean:
// numbers and texts one after the other, without names. All else is JSON, and so are orders and
// findings for whoever reads nothing newer.
const encoding = 2

// How lean frames begin. JSON begins with a brace.
const (
	leanOrder = 1
	leanDone  = 2
)

// isLean reports whether a header begins like that of a lean frame.
func isLean(head []byte) bool {
	return len(head) > 0 && (head[0] == leanOrder || head[0] == leanDone)
}

// appendLean appends the header of a lean frame, up to what it says.
func (f frame) appendLean(b []byte) []byte {
	if f.Kind == order {
		return binary.AppendUvarint(append(b, leanOrder), f.ID)
	}
	b = binary.AppendUvarint(append(b, leanDone), f.ID)
	b = binary.AppendUvarint(b, uint64(len(f.blobs)))
	for _, blob := range f.blobs {
		b = binary.AppendVarint(b, int64(sizeOf(blob)))
	}
	return b
}

// readLean reads the header of a lean frame.
func (f *frame) readLean(head []byte) error {
	r := lean{rest: head[1:]}
	f.lean, f.Kind, f.ID = true, order, r.uint()
	if head[0] == leanDone {
		f.Kind = done
		for range r.count(mostBlobs) {
			f.Blobs = append(f.Blobs, int(r.int()))
		}
	}
	f.Say = r.rest
	return r.err
}

// errLean says that a lean frame is not as it should be.
var errLean = errors.New("it cannot be read")

// A lean reads what is lean. After the first error all that it returns is zero.
type lean struct {
	rest   []byte
	within int // orders or findings that lie within others
	err    error
}

func (r *lean) fail() { r.rest, r.err = nil, errLean }

func (r *lean) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *lean) int() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// bytes returns the next n bytes, which are not copied.
func (r *lean) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *lean) text() string { return string(r.bytes(r.uint())) }

// count returns how many of something follow: each takes at least a byte.
func (r *lean) count(most int) int {
	n := r.uint()
	if n > uint64(most) || n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *lean) duration() time.Duration { return time.Duration(r.int()) }

func (r *lean) time() time.Time {
	if r.uint() == 0 {
		return time.Time{}
	}
	seconds, nanoseconds := r.int(), r.uint()
	if nanoseconds >= uint64(time.Second) {
		r.fail()
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanoseconds)).UTC()
}

func (r *lean) hash() (h freshet.Hash) {
	copy(h[:], r.bytes(r.uint()))
	return h
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendUvarint(binary.AppendVarint(append(b, 1), t.Unix()), uint64(t.Nanosecond()))
}

func appendHash(b []byte, h freshet.Hash) []byte {
	if h == (freshet.Hash{}) {
		return append(b, 0)
	}
	return appendText(b, h[:])
}

// appendFlags appends up to 64 truths.
func appendFlags(b []byte, flags ...bool) []byte {
	var bits uint64
	for i, set := range flags {
		if set {
			bits |= 1 << i
		}
	}
	return binary.AppendUvarint(b, bits)
}

// flags sets what appendFlags was given.
func (r *lean) flags(flags ...*bool) {
	bits := r.uint()
	for i, set := range flags {
		*set = bits&(1<<i) != 0
	}
}
