package listing

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Load returns the index whose pieces these are, in any order. Without any it lists
// nothing. If they are not what was saved last it returns ErrDamaged. Pieces that no
// longer count are passed over.
func Load(pieces []Piece) (*Index, error) {
	if len(pieces) == 0 {
		return new(Index), nil
	}
	byNumber := make(map[uint32][]byte, len(pieces))
	for _, p := range pieces {
		byNumber[p.Number] = p.Data
	}
	kind, head, ok := unseal(0, byNumber[0])
	if !ok || kind != headPiece || len(head) != 32 {
		return nil, ErrDamaged
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	first, last := word(0), word(1)
	if first == 0 || first > last || last-first >= uint64(len(pieces)) || last > 1<<32-1 {
		return nil, ErrDamaged
	}
	x := &Index{saving: saving{first: uint32(first), last: uint32(last)}}
	l := loader{Index: x}
	for n := uint32(first); ; n++ {
		if !l.piece(n, byNumber[n], n == uint32(last)) {
			return nil, ErrDamaged
		}
		if n == uint32(last) {
			break
		}
	}
	x.arrange(l.sorted())
	for _, p := range x.pages {
		x.digest += p.mark()
	}
	if uint64(len(x.pages)) != word(2) || x.digest != word(3) {
		return nil, ErrDamaged
	}
	return x, nil
}

// unseal returns what is in a piece, and reports whether it is whole and in its place.
func unseal(number uint32, data []byte) (kind byte, body []byte, ok bool) {
	const around = 6
	if len(data) < around+4 || data[0] != encoding {
		return 0, nil, false
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum || binary.LittleEndian.Uint32(body[2:]) != number {
		return 0, nil, false
	}
	return body[1], body[around:], true
}

// A loader puts pages together from pieces.
type loader struct {
	*Index
	base   []page
	logged map[Key]change // what became of pages since the base
	inLog  bool
}

type change struct {
	page
	gone bool
}

// piece takes the next piece and reports whether it makes sense.
func (l *loader) piece(number uint32, data []byte, last bool) bool {
	kind, body, ok := unseal(number, data)
	switch {
	case ok && kind == basePiece && !l.inLog:
		l.baseBytes += len(data)
		return l.takeBase(body)
	case ok && kind == logPiece && number > l.first:
		if !l.inLog {
			l.inLog = true
			l.logged = map[Key]change{}
			l.arrange(l.base)
		}
		if last && len(body) < fullLog {
			l.open, l.tail = true, slices.Clone(body)
		} else {
			l.logBytes += len(body)
		}
		return l.takeLog(body)
	}
	return false
}

func (l *loader) takeBase(b []byte) bool {
	r := reader{rest: b}
	var before page
	for len(r.rest) > 0 && !r.bad {
		p := page{key: before.key + Key(r.uvarint()), since: before.since + r.varint()}
		p.date = r.date(p.since)
		if n := len(l.base); n > 0 && p.key <= l.base[n-1].key {
			return false
		}
		l.base = append(l.base, p)
		before = p
	}
	return !r.bad
}

// takeLog goes through what changed. What is added was not there, and what is dated
// anew or gone was.
func (l *loader) takeLog(b []byte) bool {
	r := reader{rest: b}
	at := int64(0)
	for len(r.rest) > 0 && !r.bad {
		op := r.byte()
		if op == opAt {
			at = r.varint()
			continue
		}
		p, there := l.page(Key(r.fixed()))
		if op > opGone || there == (op == opAdd) {
			return false
		}
		switch op {
		case opAdd:
			p.since = at
			p.date = r.date(at)
		case opRedate:
			p.date = r.date(at)
		}
		l.logged[p.key] = change{p, op == opGone}
	}
	return !r.bad
}

// page returns a page as it stands so far, and whether it is listed.
func (l *loader) page(k Key) (page, bool) {
	if c, ok := l.logged[k]; ok {
		return c.page, !c.gone
	}
	if i := l.find(k); i >= 0 {
		return l.base[i], true
	}
	return page{key: k}, false
}

// sorted returns all pages in the order of their keys.
func (l *loader) sorted() []page {
	if len(l.logged) == 0 {
		return l.base
	}
	all := make([]page, 0, len(l.base)+len(l.logged))
	for _, p := range l.base {
		if _, ok := l.logged[p.key]; !ok {
			all = append(all, p)
		}
	}
	for _, c := range l.logged {
		if !c.gone {
			all = append(all, c.page)
		}
	}
	slices.SortFunc(all, func(a, b page) int { return cmp.Compare(a.key, b.key) })
	return all
}

// A reader takes a piece apart. After the first fault all that it reads is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if r.bad || len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) fixed() uint64 {
	if r.bad || len(r.rest) < 8 {
		r.bad = true
		return 0
	}
	n := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) varint() int64 { return zagzig(r.uvarint()) }

// date reads a date by its distance from another time.
func (r *reader) date(from int64) int64 {
	n := r.uvarint()
	if n == 0 {
		return undated
	}
	return from + zagzig(n-1)
}
