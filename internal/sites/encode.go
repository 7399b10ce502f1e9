package sites

import (
	"errors"
	"maps"
	"slices"

	"freshet/internal/binenc"
)

// encoding is the version of what MarshalBinary writes.
const encoding = 1

// ErrDamaged reports data that this version did not write. New Traps take their place and
// learn again.
var ErrDamaged = errors.New("site: not traps of this version")

// MarshalBinary returns what was learnt, with a checksum.
func (t *Traps) MarshalBinary() ([]byte, error) {
	w := &binenc.Writer{encoding}
	writeNumbers(w, t.told, t.same, t.mixed, t.dry)
	for _, r := range t.recents() {
		writeTable(w, r, func(struct{}) {})
	}
	writeTable(w, &t.texts, w.Uint32)
	writeTable(w, &t.looses, w.Uint32)
	writeTable(w, &t.witnesses, func(v witness) { w.Uint32(v.value); w.Uint32(v.exact); w.Uint32(v.loose) })
	writeMap(w, t.shapes, func(s *shape) { writeShape(w, s) })
	writeMap(w, t.lists, func(run uint8) { w.Uvarint(uint64(run)) })
	writeMap(w, t.calendars, func(c *calendar) { writeNumbers(w, c.first, c.last, c.jumps) })
	writeNumbers(w, len(t.idle))
	for _, name := range slices.Sorted(maps.Keys(t.idle)) {
		w.String(name)
		writeNumbers(w, t.idle[name])
	}
	writeNumbers(w, len(t.traps))
	for _, trap := range t.traps {
		w.String(string(trap.Kind))
		w.String(trap.Where)
		w.String(trap.Reason)
		w.String(trap.Example)
		writeNumbers(w, trap.Cut)
	}
	w.Checksum()
	return *w, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. If that is damaged it returns
// ErrDamaged and leaves the traps as they were.
func (t *Traps) UnmarshalBinary(data []byte) error {
	r, err := binenc.Open(encoding, data)
	if err != nil {
		return ErrDamaged
	}
	read := Traps{told: readNumber(r), same: readNumber(r), mixed: readNumber(r), dry: readNumber(r)}
	for _, table := range read.recents() {
		readTable(r, table, func() struct{} { return struct{}{} })
	}
	readTable(r, &read.texts, r.Uint32)
	readTable(r, &read.looses, r.Uint32)
	readTable(r, &read.witnesses, func() witness { return witness{r.Uint32(), r.Uint32(), r.Uint32()} })
	read.shapes = readMap(r, mostShapes, func() *shape { return readShape(r) })
	read.lists = readMap(r, mostLists, func() uint8 { return uint8(r.UvarintMax(mostEmpty)) })
	read.calendars = readMap(r, mostCalendars, func() *calendar { return &calendar{first: readNumber(r), last: readNumber(r), jumps: readNumber(r)} })
	for range r.UvarintMax(mostShapes * mostParams) {
		if read.idle == nil {
			read.idle = map[string]int{}
		}
		name := readText(r)
		read.idle[name] = readNumber(r)
	}
	for range r.UvarintMax(mostTraps) {
		read.traps = append(read.traps, Trap{Kind: Kind(readText(r)), Where: readText(r), Reason: readText(r), Example: readText(r), Cut: readNumber(r)})
	}
	if r.Close() != nil {
		return ErrDamaged
	}
	*t = read
	return nil
}

func (t *Traps) recents() []*recent {
	return []*recent{&t.words, &t.sets, &t.orders, &t.kinds, &t.passed, &t.cuts}
}

func writeNumbers(w *binenc.Writer, numbers ...int) {
	for _, n := range numbers {
		w.Uvarint(uint64(n))
	}
}

// writeTable writes what a table remembers, with its places.
func writeTable[V any](w *binenc.Writer, t *table[V], value func(V)) {
	writeNumbers(w, len(t.slots), t.used)
	for i, s := range t.slots {
		if s.hash != 0 {
			writeNumbers(w, i)
			w.Uint64(s.hash)
			value(s.value)
		}
	}
}

func writeShape(w *binenc.Writer, s *shape) {
	writeNumbers(w, s.count, s.queried, s.filtered, s.dry, s.told, s.same, s.fresh, s.empty, len(s.params))
	for _, p := range s.params {
		w.String(p.name)
		w.String(p.first)
		w.Uint64(p.values)
		writeNumbers(w, p.count, p.same, p.differ, p.chained)
		w.Bool(p.idle)
	}
}

func writeMap[V any](w *binenc.Writer, m map[uint64]V, value func(V)) {
	writeNumbers(w, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.Uint64(key)
		value(m[key])
	}
}

func readNumber(r *binenc.Reader) int { return int(r.UvarintMax(1 << 40)) }

func readText(r *binenc.Reader) string { return r.String(LongestURL + 100) }

func readTable[V any](r *binenc.Reader, t *table[V], value func() V) {
	slots := int(r.UvarintMax(mostRemembered))
	used := r.UvarintMax(uint64(slots))
	if r.Require(slots&(slots-1) == 0); r.Err() != nil {
		return
	}
	t.slots = make([]slot[V], slots)
	for range used {
		at := r.UvarintMax(uint64(slots - 1))
		s := slot[V]{hash: r.Uint64()}
		s.value = value()
		if r.Require(s.hash != 0 && t.slots[at].hash == 0); r.Err() != nil {
			return
		}
		t.slots[at] = s
		t.used++
	}
}

func readShape(r *binenc.Reader) *shape {
	s := &shape{count: readNumber(r), queried: readNumber(r), filtered: readNumber(r), dry: readNumber(r), told: readNumber(r), same: readNumber(r), fresh: readNumber(r), empty: readNumber(r)}
	for range r.UvarintMax(mostParams) {
		p := &parameter{name: readText(r), first: readText(r), values: r.Uint64()}
		p.count, p.same, p.differ, p.chained = readNumber(r), readNumber(r), readNumber(r), readNumber(r)
		p.idle = r.Byte() == 1
		r.Require(p.name != "")
		s.params = append(s.params, p)
	}
	return s
}

func readMap[V any](r *binenc.Reader, most int, value func() V) map[uint64]V {
	n := int(r.UvarintMax(uint64(most)))
	if n == 0 {
		return nil
	}
	m := make(map[uint64]V, n)
	for range n {
		key := r.Uint64()
		m[key] = value()
	}
	return m
}
