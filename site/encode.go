package site

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
	for _, r := range t.tables() {
		w.table(r)
	}
	w.number(len(t.witnesses.slots))
	w.number(t.witnesses.used)
	for i, one := range t.witnesses.slots {
		if one.rest != 0 {
			w.number(i)
			w.fixed64(one.rest)
			w.fixed64(uint64(one.value)<<32 | uint64(one.exact))
			w.fixed64(uint64(one.loose))
		}
	}
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
	for _, table := range read.tables() {
		r.table(table)
	}
	r.witnesses(&read.witnesses)
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

func (t *Traps) tables() []*recent {
	return []*recent{&t.texts, &t.looses, &t.words, &t.sets, &t.orders, &t.kinds, &t.cuts}
}

// A writer puts traps together.
type writer []byte

func (w *writer) number(n int)     { *w = binary.AppendUvarint(*w, uint64(n)) }
func (w *writer) fixed64(n uint64) { *w = binary.LittleEndian.AppendUint64(*w, n) }

func (w *writer) text(text string) {
	w.number(len(text))
	*w = append(*w, text...)
}

// table writes what a table remembers. Where a hash stands follows from the hash.
func (w *writer) table(r *recent) {
	w.number(len(r.slots))
	w.number(r.used)
	for _, hash := range r.slots {
		if hash != 0 {
			w.fixed64(hash)
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

// size reads how many slots a table has and how many of them are used.
func (r *reader) size() (slots, used int) {
	slots = r.upTo(mostRemembered)
	used = r.upTo(slots)
	if slots&(slots-1) != 0 {
		r.bad = true
		return 0, 0
	}
	return slots, used
}

func (r *reader) table(t *recent) {
	slots, used := r.size()
	t.slots, t.used = make([]uint64, slots), used
	for range used {
		if hash := r.fixed64(); hash != 0 && !r.bad {
			t.slots[hash&uint64(slots-1)] = hash
		}
	}
}

func (r *reader) witnesses(t *witnesses) {
	slots, used := r.size()
	t.slots, t.used = make([]witness, slots), used
	for range used {
		i := r.upTo(slots)
		one := witness{rest: r.fixed64()}
		both := r.fixed64()
		one.value, one.exact, one.loose = uint32(both>>32), uint32(both), uint32(r.fixed64())
		if i >= slots || r.bad {
			r.bad = true
			return
		}
		t.slots[i] = one
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
