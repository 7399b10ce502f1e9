package extract

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// A layout sets text into lines as a page shows it: white space collapses, a
// block starts a line, the cells of a row share one. Breaks and spaces are owed
// until text follows, so markup that shows nothing leaves nothing behind.
type layout struct {
	out    []byte
	begun  bool   // the present line has text
	broke  bool   // text goes on a new line
	space  bool   // text is set off by a space
	prefix []byte // marks owed to the next line, such as "- "
	bars   int    // cell borders owed
	cells  []int  // cells so far in each open row, the innermost last
	newRow bool   // nothing of the present row shows yet
	lists  int    // open lists

	pre    int    // open preformatted elements
	fresh  bool   // nothing preformatted has been written yet
	blanks int    // blank preformatted lines owed
	indent []byte // preformatted white space owed
}

const (
	maxIndent = 8  // lists nested deeper are not set in further
	maxNested = 64 // tables nested deeper are read as one
	maxPrefix = 32 // bytes of marks before a line, beyond which no heading is marked
)

// open settles what is owed before text.
func (l *layout) open() {
	if l.broke && l.begun {
		l.out = append(l.out, '\n')
		l.begun = false
	}
	l.broke, l.newRow = false, false
	if l.begun {
		if l.space || l.bars > 0 {
			for ; l.bars > 0; l.bars-- {
				l.out = append(l.out, " |"...)
			}
			l.out = append(l.out, ' ')
			l.space = false
		}
		return
	}
	for ; l.blanks > 0 && len(l.out) > 0; l.blanks-- {
		l.out = append(l.out, '\n')
	}
	l.out = append(l.out, l.prefix...)
	for ; l.bars > 0; l.bars-- {
		l.out = append(l.out, "| "...)
	}
	l.prefix, l.blanks, l.begun, l.space = l.prefix[:0], 0, true, false
}

// text sets text, which must be valid UTF-8.
func (l *layout) text(b []byte) {
	if l.pre > 0 {
		l.preformatted(b)
		return
	}
	for i := 0; i < len(b); {
		start := i
		i += plainRun(b[i:])
		for i < len(b) {
			if looks[b[i]] == solid {
				i++
			} else if b[i] == ' ' && i > start && i+1 < len(b) && looks[b[i+1]] == solid {
				i += 2
			} else {
				break
			}
		}
		if i > start {
			l.open()
			l.out = append(l.out, b[start:i]...)
			continue
		}
		switch looks[b[i]] {
		case blank:
			l.space = true
			i++
		case unseen:
			i++
		default:
			i += l.rune(b[i:])
		}
	}
}

// plainRun returns how many bytes at the start of b are words of ASCII with one space
// between them, as most text is, and stand as they are. It looks at eight at once, and may
// stop early; it ends with a letter.
func plainRun(b []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	if len(b) == 0 || b[0] == ' ' {
		return 0
	}
	for n+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[n:])
		if ((w-ones*' ')&^w|(w+ones)|w)&high != 0 { // a byte is below the space, or above "~"
			return n
		}
		spaces := ^((w ^ ones*' ') + ones*0x7f) & high
		if spaces&(spaces>>8) != 0 {
			return n
		}
		if n += 8; spaces>>63 != 0 {
			n-- // what follows the space is not known yet
		}
	}
	return n
}

// rune sets the rune at the start of b, which may be a space or nothing to see,
// and returns its length.
func (l *layout) rune(b []byte) int {
	r, n := utf8.DecodeRune(b)
	switch {
	case isInvisible(r):
	case unicode.IsSpace(r):
		l.space = true
	default:
		l.open()
		l.out = append(l.out, b[:n]...)
	}
	return n
}

// preformatted sets text whose lines and spaces count.
func (l *layout) preformatted(b []byte) {
	for len(b) > 0 {
		c := b[0]
		switch {
		case c == '\n':
			if !l.fresh {
				if l.begun && !l.broke {
					l.broke = true
				} else {
					l.blanks++
				}
			}
			l.indent = l.indent[:0]
			b = b[1:]
		case c == ' ' || c == '\t':
			l.indent = append(l.indent, c)
			b = b[1:]
		case looks[c] == blank || looks[c] == unseen:
			b = b[1:]
		default:
			_, n := utf8.DecodeRune(b)
			for n < len(b) && looks[b[n]] == solid {
				n++
			}
			l.space = false
			l.open()
			l.out = append(l.out, l.indent...)
			l.out = append(l.out, b[:n]...)
			l.indent, l.fresh = l.indent[:0], false
			b = b[n:]
		}
	}
}

// start opens an element.
func (l *layout) start(e element) {
	switch e.role {
	case inline:
		return
	case spaced:
		l.space = true
		return
	case cell:
		if row := len(l.cells) - 1; row >= 0 {
			if l.cells[row]++; l.cells[row] > 1 {
				l.broke = l.broke && l.newRow // a border instead of a line break
				l.bars++
				return
			}
		}
	case table:
		if len(l.cells) < maxNested {
			l.cells = append(l.cells, 0)
		}
	case row:
		l.endRow()
		if len(l.cells) == 0 {
			l.cells = append(l.cells, 0)
		}
	case list:
		l.lists++
	case item:
		l.prefix = l.prefix[:0]
		for range min(l.lists-1, maxIndent) {
			l.prefix = append(l.prefix, "  "...)
		}
		l.prefix = append(l.prefix, "- "...)
	case heading:
		if len(l.prefix) < maxPrefix {
			l.prefix = append(l.prefix, "###### "[6-e.level:]...)
		}
	case pre:
		l.pre++
		l.fresh, l.blanks, l.indent = true, 0, l.indent[:0]
	}
	l.breakLine()
}

// end closes an element.
func (l *layout) end(e element) {
	switch e.role {
	case inline, image, title, textArea, verbatim, dropped, template, foreign:
		return
	case spaced:
		l.space = true
		return
	case cell:
		// The next cell or row says what follows.
	case table:
		l.endRow()
		if len(l.cells) > 0 {
			l.cells = l.cells[:len(l.cells)-1]
		}
	case row:
		l.endRow()
	case list:
		l.lists = max(l.lists-1, 0)
	case item, heading:
		l.prefix = l.prefix[:0]
	case pre:
		l.pre = max(l.pre-1, 0)
		l.blanks, l.indent = 0, l.indent[:0]
	}
	l.breakLine()
}

// endRow forgets the borders owed to cells that showed nothing.
func (l *layout) endRow() {
	l.bars, l.newRow = 0, true
	if row := len(l.cells) - 1; row >= 0 {
		l.cells[row] = 0
	}
}

// breakLine starts a new line, unless that would part a cell from its border.
func (l *layout) breakLine() { l.broke = l.broke || l.bars == 0 }

// bytes returns the text that was set.
func (l *layout) bytes() []byte {
	if len(l.out) > 0 {
		l.out = append(l.out, '\n')
	}
	return l.out
}

// A look is what a byte of UTF-8 does to a line.
type look uint8

const (
	solid   look = iota // shows
	blank               // white space
	unseen              // a control character
	unclear             // starts a rune that may be any of these
)

// looks has the look of every byte. The runes that are spaces or invisible are
// in ASCII or start with one of the bytes marked unclear.
var looks = func() (t [256]look) {
	for c := range 0x20 {
		t[c] = unseen
	}
	t[0x7f] = unseen
	t[' '], t['\t'], t['\n'], t['\r'], t['\f'], t['\v'] = blank, blank, blank, blank, blank, blank
	t[0xc2], t[0xe1], t[0xe2], t[0xe3], t[0xef] = unclear, unclear, unclear, unclear, unclear
	return t
}()

// isInvisible reports whether r shows nothing: control characters and marks
// that only say where a line may break.
func isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u2060', '\ufeff':
		return true
	}
	return unicode.IsControl(r) && !unicode.IsSpace(r) || r == 0x85
}
