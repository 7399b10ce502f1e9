package queries

import (
	"encoding/binary"
	"errors"
	"math"
)

// A writer puts down what a query remembers.
type writer struct{ b []byte }

func (w *writer) int(v int64)      { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) number(v float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v)) }
func (w *writer) word(v uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

func (w *writer) text(s string) {
	w.int(int64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) truth(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

var errCut = errors.New("what was remembered is damaged")

// A reader reads it again. After the first fault it reads nothing but zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	r.b, r.err = nil, errCut
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) number() float64 {
	v := math.Float64frombits(r.word())
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.fail()
	}
	return v
}

func (r *reader) text() string {
	n := r.int()
	if n < 0 || n > int64(len(r.b)) {
		r.fail()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) truth() bool {
	if len(r.b) == 0 || r.b[0] > 1 {
		r.fail()
		return false
	}
	v := r.b[0] == 1
	r.b = r.b[1:]
	return v
}

// count reads how many of something follow, each of at least one byte.
func (r *reader) count(most int) int {
	n := r.int()
	if n < 0 || n > int64(most) || n > int64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// end reports a fault, or something that is left over.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		return errCut
	}
	return r.err
}
