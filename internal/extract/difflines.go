package extract

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// frame returns how many bytes the lines take that two texts begin with, and those that
// they end with, but for a few next to what differs. They need not be compared one by one.
func frame(old, new []byte) (before, after int) {
	same := commonPrefix(old, new)
	before = same
	for range diffContext + 1 { // back to the start of a line first
		before = 1 + bytes.LastIndexByte(old[:max(before-1, 0)], '\n')
	}
	after = commonSuffix(old[same:], new[same:])
	for range diffContext + 1 {
		n := bytes.IndexByte(old[len(old)-after:], '\n')
		if n < 0 {
			return before, 0
		}
		after -= n + 1
	}
	return before, after
}

// commonPrefix returns how many bytes two texts begin with that are the same.
func commonPrefix(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+8 <= most {
		if differ := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)/8
		}
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// commonSuffix returns how many bytes they end with.
func commonSuffix(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+8 <= most {
		if differ := binary.LittleEndian.Uint64(a[len(a)-n-8:]) ^ binary.LittleEndian.Uint64(b[len(b)-n-8:]); differ != 0 {
			return n + bits.LeadingZeros64(differ)/8
		}
		n += 8
	}
	for n < most && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	return n
}

// linePairs are the lines of two texts by number: lines are the same if their numbers
// are. To compare numbers takes less time and memory than to compare the lines again
// and again.
type linePairs struct {
	texts  [2][]byte
	starts [2][]int32 // where each line begins, and the end
	ids    [2][]int32
}

func pairLines(old, new []byte) *linePairs {
	p := &linePairs{texts: [2][]byte{old, new}}
	n := [2]int{countLines(old), countLines(new)}
	room := make([]int32, 2*(n[0]+n[1]+1))
	take := func(n int) []int32 {
		taken := room[:n:n]
		room = room[n:]
		return taken
	}
	names := newLineNames(p.texts, n[0]+n[1])
	for i, text := range p.texts {
		p.starts[i], p.ids[i] = take(n[i]+1), take(n[i])
		at := 0
		for k := range p.ids[i] {
			end := len(text)
			if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			p.starts[i][k], p.ids[i][k] = int32(at), names.of(i, at, end)
			at = end
		}
		p.starts[i][n[i]] = int32(at)
	}
	return p
}

// passage returns some lines of one of the texts.
func (p *linePairs) passage(side, from, to int) passage {
	starts := p.starts[side][from : to+1]
	return passage{text: string(p.texts[side][starts[0]:starts[to-from]]), starts: starts, from: from}
}

// A passage is some lines of a text that follow each other.
type passage struct {
	text   string
	starts []int32 // in the text that it is of
	from   int     // the first line
}

// line returns the nth line of the text.
func (p passage) line(n int) string {
	n -= p.from
	return p.text[p.starts[n]-p.starts[0] : p.starts[n+1]-p.starts[0]]
}

// lineNames gives each line a number.
type lineNames struct {
	seed  maphash.Seed // so that nobody can make lines that are slow to tell apart
	slots []int32      // one more than the number of a line; zero if there is none
	texts [2][]byte
	lines []lineAt // by their numbers
}

// A lineAt is where the first line with a number is. It is half as long as a slice of it.
type lineAt struct{ side, from, to int32 }

func newLineNames(texts [2][]byte, most int) *lineNames {
	return &lineNames{seed: maphash.MakeSeed(), slots: make([]int32, 1<<bits.Len(uint(2*most))), texts: texts, lines: make([]lineAt, 0, most)}
}

// of returns the number of a line.
func (l *lineNames) of(side, from, to int) int32 {
	line := l.texts[side][from:to]
	mask := uint64(len(l.slots) - 1)
	for slot := maphash.Bytes(l.seed, line) & mask; ; slot = (slot + 1) & mask {
		switch id := l.slots[slot] - 1; {
		case id < 0:
			l.lines = append(l.lines, lineAt{int32(side), int32(from), int32(to)})
			l.slots[slot] = int32(len(l.lines))
			return l.slots[slot] - 1
		case bytes.Equal(l.line(id), line):
			return id
		}
	}
}

// line returns the line with a number.
func (l *lineNames) line(id int32) []byte {
	at := l.lines[id]
	return l.texts[at.side][at.from:at.to]
}
