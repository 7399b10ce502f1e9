package sites

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
)

// encoding is the version of what MarshalBinary writes.
const encoding = 1

// ErrDamaged means that what was to be read are no traps that were written by this
// version. New ones take their place and notice again what they can.
var ErrDamaged = errors.New("site: not traps of this version")

// MarshalBinary returns what was learnt, with a checksum.
func (t *Traps) MarshalBinary() ([]byte, error) {
	w := writer{encoding}
	for _, n := range []int{t.told, t.same, t.mixed, t.dry} {
		w.number(n)
	}
	for _, r := range t.recents() {
		writeTable(&w, r, func(struct{}) {})
	}
	writeTable(&w, &t.texts, w.fixed32)
	writeTable(&w, &t.looses, w.fixed32)
	writeTable(&w, &t.witnesses, func(v witness) { w.fixed32(v.value); w.fixed32(v.exact); w.fixed32(v.loose) })
	writeMap(&w, t.shapes, func(s *shape) { w.shape(s) })
	writeMap(&w, t.lists, func(run uint8) { w.number(int(run)) })
	writeMap(&w, t.calendars, func(c *calendar) { w.number(c.first); w.number(c.last); w.number(c.jumps) })
	w.number(len(t.idle))
	for _, name := range slices.Sorted(maps.Keys(t.idle)) {
		w.text(name)
		w.number(t.idle[name])
	}
	w.number(len(t.traps))
	for _, trap := range t.traps {
		w.text(string(trap.Kind))
		w.text(trap.Where)
		w.text(trap.Reason)
		w.text(trap.Example)
		w.number(trap.Cut)
	}
	return binary.LittleEndian.AppendUint32(w, crc32.ChecksumIEEE(w)), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. If that is damaged it returns
// ErrDamaged and leaves the traps as they were.
func (t *Traps) UnmarshalBinary(data []byte) error {
	if len(data) < 5 || data[0] != encoding {
		return ErrDamaged
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return ErrDamaged
	}
	r := reader{rest: body[1:]}
	read := Traps{told: r.number(), same: r.number(), mixed: r.number(), dry: r.number()}
	for _, table := range read.recents() {
		readTable(&r, table, func() struct{} { return struct{}{} })
	}
	readTable(&r, &read.texts, r.fixed32)
	readTable(&r, &read.looses, r.fixed32)
	readTable(&r, &read.witnesses, func() witness { return witness{r.fixed32(), r.fixed32(), r.fixed32()} })
	read.shapes = readMap(&r, mostShapes, r.shape)
	read.lists = readMap(&r, mostLists, func() uint8 { return uint8(r.upTo(mostEmpty)) })
	read.calendars = readMap(&r, mostCalendars, func() *calendar { return &calendar{first: r.number(), last: r.number(), jumps: r.number()} })
	for range r.upTo(mostShapes * mostParams) {
		if read.idle == nil {
			read.idle = map[string]int{}
		}
		name := r.text()
		read.idle[name] = r.number()
	}
	for range r.upTo(mostTraps) {
		read.traps = append(read.traps, Trap{Kind: Kind(r.text()), Where: r.text(), Reason: r.text(), Example: r.text(), Cut: r.number()})
	}
	if r.bad || len(r.rest) > 0 {
		return ErrDamaged
	}
	*t = read
	return nil
}

func (t *Traps) recents() []*recent {
	return []*recent{&t.words, &t.sets, &t.orders, &t.kinds, &t.passed, &t.cuts}
}

// A writer puts traps together.
type writer []byte

func (w *writer) number(n int)     { *w = binary.AppendUvarint(*w, uint64(n)) }
func (w *writer) fixed64(n uint64) { *w = binary.LittleEndian.AppendUint64(*w, n) }
func (w *writer) fixed32(n uint32) { *w = binary.LittleEndian.AppendUint32(*w, n) }

func (w *writer) text(text string) {
	w.number(len(text))
	*w = append(*w, text...)
}

// writeTable writes what a table remembers, with its places.
func writeTable[V any](w *writer, t *table[V], value func(V)) {
	w.number(len(t.slots))
	w.number(t.used)
	for i, s := range t.slots {
		if s.hash != 0 {
			w.number(i)
			w.fixed64(s.hash)
			value(s.value)
		}
	}
}

func (w *writer) shape(s *shape) {
	for _, n := range []int{s.count, s.queried, s.filtered, s.dry, s.told, s.same, s.fresh, s.empty, len(s.params)} {
		w.number(n)
	}
	for _, p := range s.params {
		w.text(p.name)
		w.text(p.first)
		w.fixed64(p.values)
		for _, n := range []int{p.count, p.same, p.differ, p.chained} {
			w.number(n)
		}
		*w = append(*w, map[bool]byte{true: 1}[p.idle])
	}
}

func writeMap[V any](w *writer, m map[uint64]V, value func(V)) {
	w.number(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.fixed64(key)
		value(m[key])
	}
}

// A reader takes traps apart. After the first fault all that it reads is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return make([]byte, min(n, 8))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) fixed64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) fixed32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *reader) number() int { return r.upTo(1 << 40) }

func (r *reader) upTo(most int) int {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > uint64(most) {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) text() string {
	return string(r.take(r.upTo(LongestURL + 100)))
}

func readTable[V any](r *reader, t *table[V], value func() V) {
	slots := r.upTo(mostRemembered)
	used := r.upTo(slots)
	if r.bad = r.bad || slots&(slots-1) != 0; r.bad {
		return
	}
	t.slots = make([]slot[V], slots)
	for range used {
		at := r.upTo(slots - 1)
		s := slot[V]{hash: r.fixed64()}
		s.value = value()
		if r.bad = r.bad || s.hash == 0 || t.slots[at].hash != 0; r.bad {
			return
		}
		t.slots[at] = s
		t.used++
	}
}

func (r *reader) shape() *shape {
	s := &shape{count: r.number(), queried: r.number(), filtered: r.number(), dry: r.number(), told: r.number(), same: r.number(), fresh: r.number(), empty: r.number()}
	for range r.upTo(mostParams) {
		p := &parameter{name: r.text(), first: r.text(), values: r.fixed64()}
		p.count, p.same, p.differ, p.chained = r.number(), r.number(), r.number(), r.number()
		p.idle = r.take(1)[0] == 1
		r.bad = r.bad || p.name == ""
		s.params = append(s.params, p)
	}
	return s
}

func readMap[V any](r *reader, most int, value func() V) map[uint64]V {
	n := r.upTo(most)
	if n == 0 {
		return nil
	}
	m := make(map[uint64]V, n)
	for range n {
		key := r.fixed64()
		m[key] = value()
	}
	return m
}
