package noise

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
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

// Pass counts polls that found the text as before.
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

// learn takes down what differed in a step.
func (m *Memory) learn(d difference, version uint64) {
	if slices.Contains(m.versions, version) {
		m.returns |= 1
	}
	if m.versions = append(m.versions, version); len(m.versions) > mostVersions {
		m.versions = m.versions[1:]
	}
	if d.coarse {
		return
	}
	if d.moved {
		m.order |= 1
		m.moves++
	}
	for _, p := range d.pairs {
		for _, i := range p.differ {
			// That an age grows is known; what is learnt is whether it starts again.
			if p.new.tokens[i].kind != Age || !grownOlder(p.old.token(i), p.new.token(i)) {
				m.learnPlace(p, i)
			}
		}
		m.learnLine(p.old.hash)
		m.learnLine(p.new.hash)
	}
	for _, l := range d.loose {
		m.learnGap(l)
	}
	for _, l := range d.loose {
		m.learnLine(l.hash)
		if len(l.tokens) > 0 {
			m.learnLine(shapeOf(l))
		}
	}
}

func (m *Memory) learnPlace(p pair, i int) {
	key := p.placeKey(i)
	at := slices.IndexFunc(m.places, func(p place) bool { return p.key == key })
	if at < 0 {
		m.places, at = room(m.places, mostPlaces, func(p place) habit { return p.habit })
		m.places[at] = place{key: key, kind: p.new.tokens[i].kind}
	}
	known := &m.places[at]
	if known.habit&1 == 0 {
		known.habit |= 1
		known.times++
	}
	known.pattern = shorten(p.around(i))
}

// learnGap takes down that lines came and went after one that stayed, and whether
// they had been there before.
func (m *Memory) learnGap(l line) {
	at := slices.IndexFunc(m.gaps, func(g gap) bool { return g.key == l.before })
	if at < 0 {
		m.gaps, at = room(m.gaps, mostGaps, func(g gap) habit { return g.habit })
		m.gaps[at] = gap{key: l.before}
	}
	g := &m.gaps[at]
	if g.habit&1 == 0 {
		g.habit |= 1
		g.times++
	}
	if g.sample == "" || l.added {
		g.sample = shorten(l.text)
	}
	if !l.added {
		return
	}
	if g.added >= 60 { // what was long ago counts for less
		g.added, g.again = g.added/2, g.again/2
	}
	g.added++
	if m.known(l) {
		g.again++
	}
}

func (m *Memory) learnLine(hash uint64) {
	at := slices.IndexFunc(m.lines, func(c comer) bool { return c.hash == uint32(hash) })
	if at < 0 {
		m.lines, at = room(m.lines, mostComers, func(c comer) habit { return c.habit })
		m.lines[at] = comer{hash: uint32(hash)}
	}
	m.lines[at].habit |= 1
}

// What is looked at again of a source. Habits reach back less far than this.
const (
	// Recalled is how many of the newest outcomes of a source Recall wants.
	Recalled = 120

	mostRecalled  = 60      // versions
	recalledBytes = 8 << 20 // of their texts together
)

// Recall returns what the stored versions of a source teach, as if each of its polls
// had been judged. It goes by the newest outcomes of the source, the newest first, and
// the texts of the versions that they name, back to where its page was first read as it
// is read now. A text that cannot be read ends what is recalled.
func Recall(newest []freshet.Outcome, text func(version int) ([]byte, error)) *Memory {
	texts, size, from := map[int][]byte{}, 0, 0
	for i, o := range newest {
		if !o.Result.Seen() {
			continue
		}
		if _, known := texts[o.Version]; !known {
			if len(texts) == mostRecalled {
				break
			}
			t, err := text(o.Version)
			if size += len(t); err != nil || size > recalledBytes {
				break
			}
			texts[o.Version] = t
		}
		if from = i + 1; o.Result == freshet.First {
			break
		}
	}
	m, version := &Memory{}, 0
	for i := from - 1; i >= 0; i-- {
		switch o := newest[i]; {
		case !o.Result.Seen() || o.Version == version:
			m.Pass(1)
		case version == 0:
			version = o.Version
		default:
			m.Judge(texts[version], texts[o.Version])
			version = o.Version
		}
	}
	return m
}

// Restless reports whether a source with these newest outcomes, the newest first,
// differs often enough for a report of its noise to name a place.
func Restless(newest []freshet.Outcome) bool {
	differed, version := 0, 0
	for _, o := range newest[:min(longer+1, len(newest))] {
		if !o.Result.Seen() {
			continue
		}
		if version != 0 && o.Version != version {
			differed++
		}
		version = o.Version
	}
	return differed >= leastOften
}

// Follows reports whether the last text that the memory was given is this one. If not,
// the source has changed while nobody judged it.
func (m *Memory) Follows(text []byte) bool {
	n := len(m.versions)
	return n > 0 && m.versions[n-1] == versionOf(text)
}

// encoding is the version of what MarshalBinary writes. Noise is relearned from scratch where
// the stored version differs.
const encoding = 1

// ErrDamaged reports data that this version did not write. A new Memory takes its place
// and learns again in a dozen polls.
var ErrDamaged = errors.New("noise: not a memory of this version")

// MarshalBinary returns the memory in a few kilobytes at most, with a checksum.
func (m *Memory) MarshalBinary() ([]byte, error) {
	w := binenc.Writer{encoding}
	for _, n := range []uint32{m.polls, m.differed, m.spared, m.moves, uint32(m.order), uint32(m.returns)} {
		w.Uvarint(uint64(n))
	}
	w.Uvarint(uint64(m.upto))
	w.Uvarint(uint64(len(m.versions)))
	for _, v := range m.versions {
		w.Uint64(v)
	}
	w.Uvarint(uint64(len(m.places)))
	for _, p := range m.places {
		w.Uint64(p.key)
		w.Byte(byte(p.kind))
		w.Uvarint(uint64(p.habit))
		w.Uvarint(uint64(p.times))
		writeText(&w, p.pattern)
	}
	w.Uvarint(uint64(len(m.lines)))
	for _, c := range m.lines {
		w.Uint32(c.hash)
		w.Uvarint(uint64(c.habit))
	}
	w.Uvarint(uint64(len(m.gaps)))
	for _, g := range m.gaps {
		w.Uint64(g.key)
		w.Uvarint(uint64(g.habit))
		w.Uvarint(uint64(g.times))
		w.Byte(g.added)
		w.Byte(g.again)
		writeText(&w, g.sample)
	}
	w.Checksum()
	return w, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. If that is damaged it returns
// ErrDamaged and leaves the memory as it was.
func (m *Memory) UnmarshalBinary(data []byte) error {
	r, err := binenc.Open(encoding, data)
	if err != nil {
		return ErrDamaged
	}
	var read Memory
	read.polls, read.differed, read.spared, read.moves = number(r), number(r), number(r), number(r)
	read.order, read.returns = habit(number(r)), habit(number(r))
	read.upto = int64(r.UvarintMax(math.MaxInt64))
	for range r.Count(mostVersions, 1) {
		read.versions = append(read.versions, r.Uint64())
	}
	for range r.Count(mostPlaces, 1) {
		p := place{key: r.Uint64(), kind: Kind(r.Byte()), habit: habit(number(r)), times: number(r), pattern: readText(r)}
		r.Require(p.kind < kinds)
		read.places = append(read.places, p)
	}
	for range r.Count(mostComers, 1) {
		read.lines = append(read.lines, comer{hash: r.Uint32(), habit: habit(number(r))})
	}
	for range r.Count(mostGaps, 1) {
		read.gaps = append(read.gaps, gap{key: r.Uint64(), habit: habit(number(r)), times: number(r), added: r.Byte(), again: r.Byte(), sample: readText(r)})
	}
	if r.Close() != nil {
		return ErrDamaged
	}
	*m = read
	return nil
}

func number(r *binenc.Reader) uint32 { return uint32(r.UvarintMax(math.MaxUint32)) }

// writeText appends a text without what is not valid UTF-8, which readText refuses.
func writeText(w *binenc.Writer, text string) { w.String(strings.ToValidUTF8(text, "")) }

func readText(r *binenc.Reader) string {
	text := r.String(mostPattern)
	r.Require(utf8.ValidString(text))
	return text
}
