package extract

import (
	"encoding/binary"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An xmlWalker walks over an XML document that is well formed and plain: without directives, and with names of
// ASCII. Such a document means the same to all parsers. Its methods report whether the
// document is one; it copies nothing.
type xmlWalker struct {
	src      string
	pos      int
	sections int      // of CDATA so far
	open     []string // names of the elements within the one that is being read
	name     [32]byte
}

// An xmlTag is a start tag or an end tag.
type xmlTag struct {
	name          string // as written
	prefix, local string
	attrs         string
	end           bool
	closed        bool // it ends in "/>"
}

// child moves behind the next tag, over text and comments.
func (x *xmlWalker) child() (t xmlTag, ok bool) {
	for {
		i := strings.IndexByte(x.src[x.pos:], '<')
		if i < 0 {
			return t, false
		}
		x.pos += i
		if passed, ok := x.passSection(); !ok {
			return t, false
		} else if !passed {
			return x.tag()
		}
	}
}

// passSection passes over a comment, a CDATA section or a processing instruction, and reports whether there was one. A
// directive is not for this reader.
func (x *xmlWalker) passSection() (passed, ok bool) {
	rest := x.src[x.pos:]
	switch {
	case len(rest) < 3:
		return false, false
	case rest[1] == '?':
		name := 2
		for name < len(rest) && isXMLName[rest[name]] && rest[name] != ':' {
			name++
		}
		end := strings.Index(rest[name:], "?>")
		x.pos += name + end + len("?>")
		return true, end >= 0 && isLetter(rest[2]) && !strings.EqualFold(rest[2:name], "xml")
	case rest[1] != '!':
		return false, true
	case strings.HasPrefix(rest, cdataStart):
		end := strings.Index(rest, cdataEnd)
		x.pos += end + len(cdataEnd)
		x.sections++
		return true, end >= 0
	case strings.HasPrefix(rest, "<!--"):
		end := strings.Index(rest[len("<!--"):], "--") // must not stand within a comment
		x.pos += len("<!--") + end + len("-->")
		return true, end >= 0 && strings.HasPrefix(rest[len("<!--")+end:], "-->")
	}
	return false, false
}

const cdataStart, cdataEnd = "<![CDATA[", "]]>"

// tag reads the tag at pos.
func (x *xmlWalker) tag() (t xmlTag, ok bool) {
	rest := x.src[x.pos+1:]
	if t.end = strings.HasPrefix(rest, "/"); t.end {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && isXMLName[rest[n]] {
		n++
	}
	if n == 0 || n == len(rest) || !isLetter(rest[0]) && rest[0] != '_' {
		return t, false
	}
	t.name, t.local = rest[:n], rest[:n]
	if prefix, local, found := strings.Cut(t.name, ":"); found {
		if t.prefix, t.local = prefix, local; local == "" || strings.Contains(local, ":") || !isLetter(local[0]) && local[0] != '_' {
			return t, false
		}
	}
	size, ok := endOfTag(rest[n:])
	if !ok {
		return t, false
	}
	t.attrs, rest = rest[n:n+size], rest[n+size:]
	if t.closed = rest[0] == '/'; t.closed {
		rest = rest[1:]
	}
	x.pos = len(x.src) - len(rest) + 1
	return t, !t.end || !t.closed && strings.Trim(t.attrs, " \t\r\n") == ""
}

// endOfTag returns how long the attributes of a tag are, which begin behind its name: each has a name, a value in
// quotes, and white space before it.
func endOfTag(s string) (size int, ok bool) {
	for i := 0; ; {
		from := i
		for i < len(s) && isSpace(s[i]) && s[i] != '\f' {
			i++
		}
		if i == len(s) {
			return 0, false
		}
		if s[i] == '>' || s[i] == '/' && strings.HasPrefix(s[i:], "/>") {
			return i, true
		}
		if i == from || !isLetter(s[i]) && s[i] != '_' {
			return 0, false
		}
		name := i
		for i < len(s) && isXMLName[s[i]] {
			i++
		}
		if strings.Count(s[name:i], ":") > 1 || i+1 >= len(s) || s[i] != '=' || s[i+1] != '"' && s[i+1] != '\'' {
			return 0, false
		}
		end := strings.IndexByte(s[i+2:], s[i+1])
		if end < 0 || strings.IndexByte(s[i+2:i+2+end], '<') >= 0 {
			return 0, false
		}
		i += end + 3
	}
}

// attributes yields the names and values of the attributes of a tag, as they are written.
func (t xmlTag) attributes() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for rest := strings.TrimLeft(t.attrs, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
			name, quoted, _ := strings.Cut(rest, "=")
			end := 1 + strings.IndexByte(quoted[1:], quoted[0])
			if !yield(name, quoted[1:end]) {
				return
			}
			rest = quoted[end+1:]
		}
	}
}

// declares reports whether a tag declares namespaces, or may do so.
func (t xmlTag) declares() bool { return strings.Contains(t.attrs, "xmlns") }

// inner returns what an element has in it, as it is written, and moves behind its end tag.
func (x *xmlWalker) inner(t xmlTag) (raw string, ok bool) {
	if t.closed {
		return "", true
	}
	from := x.pos
	x.open = append(x.open[:0], t.name)
	for {
		i := strings.IndexByte(x.src[x.pos:], '<')
		if i < 0 {
			return "", false
		}
		x.pos += i
		passed, ok := x.passSection()
		if !ok {
			return "", false
		}
		if passed {
			continue
		}
		end := x.pos
		t, ok := x.tag()
		switch last := len(x.open) - 1; {
		case !ok:
			return "", false
		case t.end && t.name != x.open[last]:
			return "", false
		case t.end && last == 0:
			return x.src[from:end], true
		case t.end:
			x.open = x.open[:last]
		case !t.closed:
			x.open = append(x.open, t.name)
		}
	}
}

// lower returns a name in lower case, for the moment.
func (x *xmlWalker) lower(name string) []byte {
	b := x.name[:0]
	for i := range min(len(name), len(x.name)) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}

// isXMLName has the bytes of names that are read here.
var isXMLName = func() (t [256]bool) {
	for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.:" {
		t[c] = true
	}
	return t
}()

// plainXML reports whether a document has nothing in it on which parsers disagree: characters that XML does not allow,
// written as they are or by their number, text before the root, and bases of URLs.
func plainXML(src string) bool {
	if hasControls(src) || !utf8.ValidString(src) || strings.Contains(src, "\ufffe") || strings.Contains(src, "\uffff") {
		return false
	}
	for rest := src; ; {
		i := strings.Index(rest, "&#")
		if i < 0 {
			break
		}
		if rest = rest[i+2:]; !isPlainReference(rest) {
			return false
		}
	}
	return strings.HasPrefix(strings.TrimLeft(src, " \t\r\n"), "<") && !strings.Contains(src, "xml:base")
}

// hasControls reports whether a text has control characters other than white space, eight bytes at a time.
func hasControls(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64([]byte(s[:8]))
		if (w-ones*' ')&^w&high != 0 && anyControl(s[:8]) {
			return true
		}
	}
	return anyControl(s)
}

func anyControl(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return false
}

// isPlainReference reports whether s begins with the number of a character and a semicolon, as they stand behind "&#".
func isPlainReference(s string) bool {
	end := strings.IndexByte(s[:min(len(s), 10)], ';')
	if end < 1 {
		return false
	}
	base := 10
	if s[0] == 'x' {
		s, end, base = s[1:], end-1, 16
	}
	n, err := strconv.ParseUint(s[:end], base, 32)
	if err != nil || n < ' ' && n != '\t' && n != '\n' && n != '\r' {
		return false
	}
	return n < 0xd800 || 0xe000 <= n && n < 0xfffe || 0x10000 <= n && n <= utf8.MaxRune
}
