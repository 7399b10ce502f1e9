package extract

import (
	"bytes"
)

// A scanner splits an HTML page into text and tags in one pass, by the rules of
// the HTML standard's tokenizer. It copies nothing and gives up on nothing: any
// bytes are a page. Comments, doctypes and processing instructions are passed
// over.
//
// The tokenizer of golang.org/x/net/html takes five times as long. It is the oracle of
// the tests, and reads pages where speed matters less.
type scanner struct {
	src []byte
	pos int
	tok token // the one that next returned last
}

type tokenKind uint8

const (
	endOfPage tokenKind = iota
	textToken
	startTag
	endTag
)

// A token is a piece of a page, by its places in it: slices here would make
// work for the garbage collector at every tag.
type token struct {
	kind       tokenKind
	closed     bool // a start tag that ends in "/>"
	at         int  // where it starts
	start, end int  // of a text, or of the name of a tag
	tail       int  // behind the ">" of a tag
}

// text returns the present text as written, entities and all.
func (s *scanner) text() []byte { return s.src[s.tok.start:s.tok.end] }

// name returns the name of the present tag as written.
func (s *scanner) name() []byte { return s.src[s.tok.start:s.tok.end] }

// attrs returns what stands behind the name of the present tag, the ">" included.
func (s *scanner) attrs() []byte { return s.src[s.tok.end:s.tok.tail] }

// next moves to the next token and returns its kind.
func (s *scanner) next() tokenKind {
	from := s.pos // where text not yet returned starts
	for at := from; ; {
		i := bytes.IndexByte(s.src[at:], '<')
		if i < 0 || at+i+1 == len(s.src) {
			return s.rest(from)
		}
		at += i
		c := s.src[at+1]
		switch {
		case isLetter(c), c == '!', c == '?':
		case c == '/':
			if at+2 == len(s.src) {
				return s.rest(from)
			}
		default: // a stray "<" is text
			at++
			continue
		}
		if at > from {
			s.pos = at
			s.tok = token{kind: textToken, at: from, start: from, end: at}
			return textToken
		}
		switch {
		case c == '/' && isLetter(s.src[at+2]):
			return s.tag(endTag, at, at+2)
		case c == '/':
			s.passUntil(at+2, ">")
		case c == '!':
			s.passDeclaration(at)
		case c == '?':
			s.passUntil(at+1, ">")
		default:
			return s.tag(startTag, at, at+1)
		}
		from, at = s.pos, s.pos
	}
}

// rest takes what is left as text.
func (s *scanner) rest(from int) tokenKind {
	s.pos = len(s.src)
	s.tok = token{kind: textToken, at: from, start: from, end: s.pos}
	if from == s.pos {
		s.tok.kind = endOfPage
	}
	return s.tok.kind
}

// tag reads a tag whose name starts at from. A tag that the page breaks off in
// is dropped, as browsers do.
func (s *scanner) tag(kind tokenKind, at, from int) tokenKind {
	i := from
	for i < len(s.src) && !endsName[s.src[i]] {
		i++
	}
	end, closed := i, false
	if i == len(s.src) || s.src[i] != '>' {
		a := attributes{src: s.src, pos: i}
		for a.next() {
		}
		if end = a.pos; end >= len(s.src) {
			return s.rest(end)
		}
		closed = a.slash > 0 && a.slash == end-1
	}
	s.pos = end + 1
	s.tok = token{kind: kind, closed: closed, at: at, start: from, end: i, tail: s.pos}
	return kind
}

var endsName = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, '\f': true, '/': true, '>': true}

// passDeclaration passes over a comment, a doctype or the like.
func (s *scanner) passDeclaration(at int) {
	if !bytes.HasPrefix(s.src[at:], []byte("<!--")) {
		s.passUntil(at+2, ">")
		return
	}
	// A comment ends at "-->" or "--!>"; "<!-->" and "<!--->" are whole.
	for i := at + 2; ; {
		n := bytes.IndexByte(s.src[i:], '>')
		if n < 0 {
			s.pos = len(s.src)
			return
		}
		i += n + 1
		body := s.src[at+2 : i-1]
		if bytes.HasSuffix(body, []byte("--")) || len(body) >= 5 && bytes.HasSuffix(body, []byte("--!")) {
			s.pos = i
			return
		}
	}
}

// passUntil moves behind the next end, or to the end of the page.
func (s *scanner) passUntil(from int, end string) {
	i := bytes.Index(s.src[from:], []byte(end))
	if i < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos = from + i + len(end)
}

// raw returns the text up to the end tag of an element in which markup does not
// count, and moves to that end tag. Name must be in lower case.
func (s *scanner) raw(name string) []byte {
	from := s.pos
	if name == "script" {
		s.pos = endOfScript(s.src, from)
	} else {
		s.pos = indexTag(s.src, from, "</", name)
	}
	return s.src[from:s.pos]
}

// indexTag returns where open (such as "</") and name next stand together as a
// tag, or the end of src.
func indexTag(src []byte, from int, open, name string) int {
	for i := from; ; i++ {
		n := bytes.Index(src[i:], []byte(open))
		if n < 0 {
			return len(src)
		}
		i += n
		if isTag(src[i+len(open):], name) {
			return i
		}
	}
}

// isTag reports whether src starts with name as the whole name of a tag.
func isTag(src []byte, name string) bool {
	if len(src) <= len(name) {
		return false
	}
	for i := range len(name) {
		if src[i]|0x20 != name[i] {
			return false
		}
	}
	c := src[len(name)]
	return isSpace(c) || c == '/' || c == '>'
}

// endOfScript returns where the end tag of a script stands. Within "<!--" and
// "-->" a script may hold a whole script element as text, an old custom that
// the standard keeps.
func endOfScript(src []byte, from int) int {
	end := -1
	for i := from; ; {
		if end < i {
			end = indexTag(src, i, "</", "script")
		}
		comment := bytes.Index(src[i:end], []byte("<!--"))
		if comment < 0 {
			return end
		}
		i += comment + len("<!")
		nested := false
		for commented := true; commented; {
			n := bytes.IndexAny(src[i:], "<-")
			if n < 0 {
				return len(src)
			}
			i += n
			rest := src[i:]
			switch {
			case bytes.HasPrefix(rest, []byte("-->")):
				commented = false
			case !nested && bytes.HasPrefix(rest, []byte("</")) && isTag(rest[2:], "script"):
				return i
			case nested && bytes.HasPrefix(rest, []byte("</")) && isTag(rest[2:], "script"):
				nested = false
			case !nested && rest[0] == '<' && isTag(rest[1:], "script"):
				nested = true
			}
			i++
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}

// attributes reads the attributes of a tag one by one, from behind its name up
// to the ">" that ends it.
type attributes struct {
	src   []byte
	pos   int
	slash int // where the last bare "/" stood

	keyStart, keyEnd     int // of the present attribute
	valueStart, valueEnd int
}

func (a *attributes) key() []byte   { return a.src[a.keyStart:a.keyEnd] }
func (a *attributes) value() []byte { return a.src[a.valueStart:a.valueEnd] }

// next moves to the next attribute. It returns false at the end of the tag, with
// pos on the ">", or at the end of src.
func (a *attributes) next() bool {
	for a.skipSpace() {
		if a.src[a.pos] == '>' {
			return false
		}
		if a.src[a.pos] == '/' {
			a.slash = a.pos
			a.pos++
			continue
		}
		start := a.pos
		for a.pos++; a.pos < len(a.src) && !endsKey[a.src[a.pos]]; a.pos++ {
		}
		a.keyStart, a.keyEnd, a.valueStart, a.valueEnd = start, a.pos, a.pos, a.pos
		if a.skipSpace() && a.src[a.pos] == '=' {
			a.pos++
			a.readValue()
		}
		return a.pos < len(a.src)
	}
	return false
}

func (a *attributes) readValue() {
	if !a.skipSpace() {
		return
	}
	switch c := a.src[a.pos]; c {
	case '>':
	case '"', '\'':
		a.pos++
		n := bytes.IndexByte(a.src[a.pos:], c)
		if n < 0 {
			a.pos = len(a.src)
			return
		}
		a.valueStart, a.valueEnd = a.pos, a.pos+n
		a.pos += n + 1
	default:
		start := a.pos
		for a.pos < len(a.src) && !isSpace(a.src[a.pos]) && a.src[a.pos] != '>' {
			a.pos++
		}
		a.valueStart, a.valueEnd = start, a.pos
	}
}

// skipSpace reports whether there is anything behind the white space.
func (a *attributes) skipSpace() bool {
	for a.pos < len(a.src) && isSpace(a.src[a.pos]) {
		a.pos++
	}
	return a.pos < len(a.src)
}

var endsKey = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, '\f': true, '/': true, '>': true, '=': true}

// attribute returns the value of the first attribute called name (in lower
// case) in the
// attrs of a tag.
func attribute(attrs []byte, name string) (value []byte, ok bool) {
	a := attributes{src: attrs}
	for a.next() {
		if bytes.EqualFold(a.key(), []byte(name)) {
			return a.value(), true
		}
	}
	return nil, false
}

// An element is what a tag means to the layout of a page.
type element struct {
	role  role
	level uint8  // of a heading
	name  string // of an element in which markup does not count
}

type role uint8

const (
	inline  role = iota // does not show by itself
	spaced              // set off by spaces, such as a button
	block               // a line of its own
	lineEnd             // <br>
	heading
	list
	item // of a list
	table
	row
	cell
	pre      // white space counts
	image    // shown by its alternative text
	title    // of the page
	textArea // its text is shown, markup does not count
	verbatim // likewise, and entities do not count either
	dropped  // neither its text nor markup within it counts
	template // dropped, but may hold markup and nest
	foreign  // SVG and MathML: dropped, with rules of its own
)

// elementOf returns what the element called name is. The case of name does not
// matter.
func elementOf(name []byte) element {
	var buf [12]byte
	if len(name) > len(buf) {
		return element{}
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	switch string(buf[:len(name)]) {
	case "p", "div", "section", "article", "aside", "header", "footer", "main", "nav", "search", "address",
		"blockquote", "center", "dd", "dt", "details", "summary", "dialog", "fieldset", "legend", "figure",
		"figcaption", "form", "hgroup", "hr", "body", "html", "head", "caption", "thead", "tbody", "tfoot",
		"optgroup", "option", "frameset", "marquee":
		return element{role: block}
	case "br":
		return element{role: lineEnd}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return element{role: heading, level: buf[1] - '0'}
	case "ul", "ol", "dl", "menu", "dir":
		return element{role: list}
	case "li":
		return element{role: item}
	case "table":
		return element{role: table}
	case "tr":
		return element{role: row}
	case "td", "th":
		return element{role: cell}
	case "pre", "listing":
		return element{role: pre}
	case "button", "input", "select", "label", "video", "audio", "object", "embed", "meter", "progress":
		return element{role: spaced}
	case "img", "area":
		return element{role: image}
	}
	return opaque(string(buf[:len(name)]))
}

// opaque returns what an element is in which markup does not count or does not
// show.
func opaque(name string) element {
	switch name {
	case "title":
		return element{role: title, name: "title"}
	case "textarea":
		return element{role: textArea, name: "textarea"}
	case "xmp":
		return element{role: verbatim, name: "xmp"}
	case "plaintext":
		return element{role: verbatim, name: "plaintext"}
	case "script":
		return element{role: dropped, name: "script"}
	case "style":
		return element{role: dropped, name: "style"}
	case "iframe":
		return element{role: dropped, name: "iframe"}
	case "noscript":
		return element{role: dropped, name: "noscript"}
	case "noembed":
		return element{role: dropped, name: "noembed"}
	case "noframes":
		return element{role: dropped, name: "noframes"}
	case "template":
		return element{role: template, name: "template"}
	case "svg":
		return element{role: foreign, name: "svg"}
	case "math":
		return element{role: foreign, name: "math"}
	}
	return element{}
}
