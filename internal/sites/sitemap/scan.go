package sitemap

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// ErrEntities means that a document defines entities of its own, which can stand
// for endless text or for files. It is not read.
var ErrEntities = errors.New("it defines entities, which are not read")

// A token is a piece of XML.
type token uint8

const (
	end      token = iota // of the document
	startTag              // name and attributes; closed if it ends in />
	endTag                // name
	text                  // text, entities replaced
)

// A scanner takes XML apart, and what passes for it: what makes no sense as markup
// is text. What it returns is good until the next call. To read a whole sitemap with it takes
// a third of what encoding/xml takes for the tokens alone.
type scanner struct {
	*window
	name   []byte
	attrs  []byte
	closed bool
	text   []byte

	plain  []byte // text with its entities replaced
	broken int    // tags that could not be read
	inText bool   // what is left of a section of CDATA comes next
	typed  bool   // there was a DOCTYPE
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	for {
		if s.inText {
			if s.cdata() {
				return text, nil
			}
			continue
		}
		if s.pos == s.end && !s.more() {
			return end, nil
		}
		if s.buf[s.pos] != '<' {
			s.chars()
			return text, nil
		}
		switch {
		case !s.has("<!") && !s.has("<?"):
			if t := s.tag(); t != end {
				return t, nil
			}
			s.broken++
			s.text = s.buf[s.pos : s.pos+1]
			s.pos++
			return text, nil
		case s.has("<!--"):
			s.pos += len("<!--")
			s.pass("-->")
		case s.has("<![CDATA["):
			s.pos += len("<![CDATA[")
			s.inText = true
		case s.has("<?"):
			s.pass("?>")
		case s.has("<!DOCTYPE"), s.has("<!doctype"):
			if err := s.doctype(); err != nil {
				return end, err
			}
		default:
			s.pass(">")
		}
	}
}

// chars reads text up to the next tag, or a window of it. What is cut by that is longer
// than anything that counts.
func (s *scanner) chars() {
	n := s.find('<')
	if n < 0 {
		n = s.end - s.pos
	}
	s.text = s.buf[s.pos : s.pos+n]
	s.pos += n
	if bytes.IndexByte(s.text, '&') >= 0 {
		s.plain = unescape(s.plain[:0], s.text)
		s.text = s.plain
	}
}

// cdata reads on in a section of CDATA and reports whether there was text. It hands
// over what has come, and looks at nothing twice but what may begin the end.
func (s *scanner) cdata() bool {
	const mark = "]]>"
	for {
		if i := bytes.Index(s.rest(), []byte(mark)); i >= 0 {
			s.text = s.buf[s.pos : s.pos+i]
			s.pos += i + len(mark)
			s.inText = false
			return i > 0
		}
		n := s.end - s.pos - len(mark) + 1
		if n <= 0 && s.more() {
			continue
		}
		if n <= 0 { // the document ends
			n, s.inText = s.end-s.pos, false
		}
		s.text = s.buf[s.pos : s.pos+n]
		s.pos += n
		return n > 0
	}
}

// doctype passes over a document type, unless it defines entities. Those that only
// name other files are never read, and do no harm.
func (s *scanner) doctype() error {
	s.typed = true
	s.pos += len("<!DOCTYPE")
	for depth := 1; depth > 0; {
		if s.pos == s.end && !s.more() {
			return nil
		}
		switch {
		case s.has("<!--"):
			s.pos += len("<!--")
			s.pass("-->")
			continue
		case s.has("<!ENTITY"):
			s.pos += len("<!ENTITY")
			n := s.find('>')
			if n < 0 || !bytes.HasPrefix(trim(s.buf[s.pos:s.pos+n]), []byte("%")) {
				return ErrEntities
			}
			depth++
			continue
		case s.buf[s.pos] == '<':
			depth++
		case s.buf[s.pos] == '>':
			depth--
		}
		s.pos++
	}
	return nil
}

// tag reads a tag, and returns end if there is none at the position.
func (s *scanner) tag() token {
	n := s.tagEnd()
	if n < 0 {
		return end
	}
	inside := s.buf[s.pos+1 : s.pos+n]
	kind := startTag
	if len(inside) > 0 && inside[0] == '/' {
		kind, inside = endTag, inside[1:]
	}
	i := 0
	for i < len(inside) && inside[i] > ' ' && inside[i] != '/' {
		i++
	}
	if i == 0 || !isNameStart(inside[0]) {
		return end
	}
	s.name, s.attrs = inside[:i], inside[i:]
	s.closed = len(s.attrs) > 0 && s.attrs[len(s.attrs)-1] == '/'
	s.pos += n + 1
	return kind
}

func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}

// tagEnd returns where the tag ends that begins here; -1 if none does. A > within
// quotes does not end it, unless the quotes are never closed. It looks no further
// than the next <, so that no heap of them is gone through again and again.
func (s *scanner) tagEnd() int {
	first := -1 // > of all
	quote := byte(0)
	for i := 1; ; i++ {
		if s.pos+i == s.end && !s.more() {
			return first
		}
		switch c := s.buf[s.pos+i]; {
		case c == '<':
			return first
		case c == '>':
			if quote == 0 {
				return i
			}
			if first < 0 {
				first = i
			}
		case c == '"' || c == '\'':
			switch quote {
			case 0:
				quote = c
			case c:
				quote = 0
			}
		}
	}
}

// eachAttr calls f with the attributes of a tag.
func (s *scanner) eachAttr(f func(name, value []byte)) {
	rest := s.attrs
	for {
		eq := bytes.IndexByte(rest, '=')
		if eq < 0 {
			return
		}
		name := trim(rest[:eq])
		if i := bytes.LastIndexAny(name, " \t\r\n/\"'"); i >= 0 {
			name = name[i+1:]
		}
		rest = bytes.TrimLeft(rest[eq+1:], " \t\r\n")
		if len(rest) == 0 {
			return
		}
		var value []byte
		if q := rest[0]; q == '"' || q == '\'' {
			rest = rest[1:]
			i := bytes.IndexByte(rest, q)
			if i < 0 {
				i = len(rest)
			}
			value, rest = rest[:i], rest[min(i+1, len(rest)):]
		} else {
			i := bytes.IndexAny(rest, " \t\r\n/")
			if i < 0 {
				i = len(rest)
			}
			value, rest = rest[:i], rest[i:]
		}
		if bytes.IndexByte(value, '&') >= 0 {
			value = unescape(nil, value)
		}
		f(name, value)
	}
}

// maxEntity is the longest reference to an entity, the & and the ; included.
const maxEntity = 12

// unescape appends text with the entities of XML replaced. Others, and an & that
// begins none, stay as they are: URLs are full of them.
func unescape(dst, src []byte) []byte {
	for {
		i := bytes.IndexByte(src, '&')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(dst, src[:i]...)
		src = src[i:]
		n := bytes.IndexByte(src[:min(len(src), maxEntity)], ';')
		if n < 0 {
			dst, src = append(dst, '&'), src[1:]
			continue
		}
		r, ok := entity(string(src[1:n]))
		if !ok {
			dst, src = append(dst, '&'), src[1:]
			continue
		}
		dst, src = utf8.AppendRune(dst, r), src[n+1:]
	}
}

func entity(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	case "nbsp":
		return ' ', true
	}
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := name[1:], 10
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune {
		return 0, false
	}
	return rune(n), true
}

// windowBytes is the longest piece of a document that is looked at as one: a tag, a
// line.
const windowBytes = 64 << 10

// A window moves over a document.
type window struct {
	r    io.Reader
	buf  []byte
	pos  int // of what has not been read
	end  int
	line int   // line breaks before upto
	upto int   // where lines have been counted
	err  error // io.EOF, or what went wrong, behind end
}

func newWindow(r io.Reader) *window {
	return &window{r: r, buf: make([]byte, windowBytes)}
}

// rest returns what is in the window and has not been read.
func (w *window) rest() []byte { return w.buf[w.pos:w.end] }

// full reports whether no more fits behind what has not been read.
func (w *window) full() bool { return w.pos == 0 && w.end == len(w.buf) }

// more reads on and reports whether anything came. What has not been read stays in
// the window, at another place.
func (w *window) more() bool {
	if w.err != nil || w.full() {
		return false
	}
	if w.pos > 0 {
		w.at()
		w.end = copy(w.buf, w.rest())
		w.pos, w.upto = 0, 0
	}
	for range 100 {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// at returns the line of what comes next, counted from 1.
func (w *window) at() int {
	w.line += bytes.Count(w.buf[w.upto:w.pos], []byte{'\n'})
	w.upto = w.pos
	return w.line + 1
}

// find returns where a byte is, from the position on, having read on as far as it
// takes; -1 if it is not within a window.
func (w *window) find(c byte) int {
	for from := 0; ; {
		if i := bytes.IndexByte(w.buf[w.pos+from:w.end], c); i >= 0 {
			return from + i
		}
		from = w.end - w.pos
		if !w.more() {
			return -1
		}
	}
}

// pass moves behind the next occurrence of a mark and reports whether there is one.
func (w *window) pass(mark string) bool {
	for {
		if i := bytes.Index(w.rest(), []byte(mark)); i >= 0 {
			w.pos += i + len(mark)
			return true
		}
		w.pos = max(w.pos, w.end-len(mark)+1)
		if !w.more() {
			w.pos = w.end
			return false
		}
	}
}

// has reports whether a mark comes next.
func (w *window) has(mark string) bool {
	for w.end-w.pos < len(mark) {
		if !w.more() {
			return false
		}
	}
	return string(w.buf[w.pos:w.pos+len(mark)]) == mark
}
