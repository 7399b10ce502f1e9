package noise

import (
	"cmp"
	"math/bits"
	"slices"
)

// How much is kept of a source.
const (
	mostPlaces   = 64
	mostComers   = 512
	mostGaps     = 24
	mostVersions = 12
	mostPattern  = 64 // bytes
)

// A habit says at which of the last polls something happened: bit 0 is the last one.
type habit uint32

// within returns how often it happened in the last polls before the one under way,
// which is bit 0.
func (h habit) within(polls int) int {
	return bits.OnesCount32(uint32(h) >> 1 & (1<<polls - 1))
}

// The polls that habits are judged by, and the fewest of them that make one.
const (
	lately     = 8
	longer     = 24
	leastOften = 4
)

// A Memory is what has been seen of a source. The zero value has seen nothing.
type Memory struct {
	polls    uint32 // seen, with or without a difference
	upto     int64  // polls of the source when it was last judged, if Polled said so
	differed uint32 // polls that found a difference
	spared   uint32 // of those, the ones that were noise

	order    habit // the order of lines differed
	moves    uint32
	returns  habit // the text was one of the versions again
	versions []uint64
	places   []place
	lines    []comer
	gaps     []gap
}

// A place is a token of a line that differs while the rest of the line stays.
type place struct {
	key     uint64
	kind    Kind
	habit   habit
	times   uint32 // that it differed
	pattern string
}

// A comer is a line that comes and goes.
type comer struct {
	hash  uint32
	habit habit
}

// A gap is what stands between a line that stays and the next one that does.
type gap struct {
	key    uint64
	habit  habit
	times  uint32 // that it differed
	added  uint8  // lines that came, of late
	again  uint8  // those of them that had been there before
	sample string
}

// Polled says how many polls of the source were made before the one that is judged
// next. Those since the last one that was judged found the text as before.
func (m *Memory) Polled(polls int64) {
	if m.upto > 0 {
		m.Pass(int(min(polls-m.upto, 1<<20)))
	}
	m.upto = max(0, polls) + 1
}

// Pass tells of polls that found the text as before.
func (m *Memory) Pass(polls int) {
	if polls <= 0 {
		return
	}
	m.polls += uint32(min(polls, 1<<20))
	m.shift(polls)
}

// shift lets polls pass.
func (m *Memory) shift(polls int) {
	by := min(polls, 32)
	m.order <<= by
	m.returns <<= by
	for i := range m.places {
		m.places[i].habit <<= by
	}
	for i := range m.lines {
		m.lines[i].habit <<= by
	}
	for i := range m.gaps {
		m.gaps[i].habit <<= by
	}
}

// often reports whether something happens at most polls. It takes more than half of
// those that are remembered, or nearly all of the last few, because noise may begin
// when the page has long been known.
func (m *Memory) often(h habit) bool {
	return h.within(lately) >= 6 || m.share(h, leastOften, 0.5)
}

// mostly is often, for what has nothing else to show that it is noise.
func (m *Memory) mostly(h habit) bool {
	return h.within(lately) >= 6 || m.share(h, 5, 0.7)
}

// share reports whether something happened so many times in the polls that are
// remembered, and in such a share of them.
func (m *Memory) share(h habit, times int, share float64) bool {
	n := h.within(longer)
	return n >= times && float64(n) >= share*float64(min(m.polls-1, longer))
}

// place returns what is known of a place.
func (m *Memory) place(key uint64) (place, bool) {
	i := slices.IndexFunc(m.places, func(p place) bool { return p.key == key })
	if i < 0 {
		return place{}, false
	}
	return m.places[i], true
}

// comer returns when a line came and went of late, and whether it ever did.
func (m *Memory) comer(hash uint64) (habit, bool) {
	for _, c := range m.lines {
		if c.hash == uint32(hash) {
			return c.habit, true
		}
	}
	return 0, false
}

// gap returns what is known of the gap after a line.
func (m *Memory) gap(key uint64) gap {
	for _, g := range m.gaps {
		if g.key == key {
			return g
		}
	}
	return gap{}
}

// room returns where in a list to put one more: at its end, or in the place of the one
// that has been still for longest, of those that have been busy least.
func room[T any](list []T, most int, of func(T) habit) ([]T, int) {
	if len(list) < most {
		var none T
		return append(list, none), len(list)
	}
	at, least := 0, of(list[0])
	for i, x := range list {
		h := of(x)
		if c := cmp.Compare(bits.OnesCount32(uint32(h)), bits.OnesCount32(uint32(least))); c < 0 || c == 0 && bits.TrailingZeros32(uint32(h)) > bits.TrailingZeros32(uint32(least)) {
			at, least = i, h
		}
	}
	return list, at
}
