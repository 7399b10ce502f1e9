package sched

import (
	"hash/maphash"

	"freshet/internal/freshet"
)

// A lookup finds slots by a text that the source in each has, its ID or its URL. It keeps
// the slots alone, and asks for their texts: of millions of sources a map would take six
// times as much memory. It is many small tables, so that none takes long to grow.
type lookup struct {
	text   func(freshet.Slot) string
	seed   maphash.Seed // so that nobody can choose texts that fall together
	tables [1 << lookupBits]lookupTable
}

// lookupBits of a hash say which table a text is in.
const lookupBits = 8

// A lookupTable is slots by the hash of their texts, each at its place or as soon after it as
// there was room. How long it is is a power of two.
type lookupTable struct {
	slots []freshet.Slot // plus 1; 0 where there is none
	n     int
}

func newLookup(text func(freshet.Slot) string) *lookup {
	return &lookup{text: text, seed: maphash.MakeSeed()}
}

// table returns the table of a text, and its hash there.
func (l *lookup) table(text string) (*lookupTable, uint64) {
	sum := maphash.String(l.seed, text)
	return &l.tables[sum>>(64-lookupBits)], sum
}

// get returns the slot that has a text.
func (l *lookup) get(text string) (freshet.Slot, bool) {
	t, sum := l.table(text)
	if t.n == 0 {
		return 0, false
	}
	at, ok := l.find(t, text, sum)
	if !ok {
		return 0, false
	}
	return t.slots[at] - 1, true
}

// find returns the place of a text in a table that has room, or the one where it belongs.
func (l *lookup) find(t *lookupTable, text string, sum uint64) (at int, ok bool) {
	mask := len(t.slots) - 1
	for at = int(sum) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if l.text(t.slots[at]-1) == text {
			return at, true
		}
	}
	return at, false
}

// put notes that a slot has a text. If another had it, it is no longer found.
func (l *lookup) put(text string, slot freshet.Slot) {
	t, sum := l.table(text)
	if 4*(t.n+1) > 3*len(t.slots) {
		l.grow(t)
	}
	at, ok := l.find(t, text, sum)
	t.slots[at] = slot + 1
	if !ok {
		t.n++
	}
}

// grow makes a table twice as long.
func (l *lookup) grow(t *lookupTable) {
	was := t.slots
	t.slots = make([]freshet.Slot, max(4, 2*len(was)))
	for _, slot := range was {
		if slot != 0 {
			text := l.text(slot - 1)
			at, _ := l.find(t, text, maphash.String(l.seed, text))
			t.slots[at] = slot
		}
	}
}

// drop notes that no slot has a text any more.
func (l *lookup) drop(text string) {
	t, sum := l.table(text)
	if t.n == 0 {
		return
	}
	hole, ok := l.find(t, text, sum)
	if !ok {
		return
	}
	t.n--
	mask := len(t.slots) - 1
	for at := (hole + 1) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		home := int(maphash.String(l.seed, l.text(t.slots[at]-1))) & mask
		if (at-home)&mask >= (at-hole)&mask { // it may lie in the hole
			t.slots[hole] = t.slots[at]
			hole = at
		}
	}
	t.slots[hole] = 0
}
