package sites

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// An address is a normalised URL, taken apart.
type address struct {
	url      string
	origin   string
	segments []string
	params   []param
	// shape is the path with all that tells one page of a kind from another taken out:
	// /p/12345 and /p/777 have the shape /p/#. Pages of one shape are made by one program.
	shape string
}

// A param is one parameter of a query. A path segment that was drawn at random is one
// too: it is where some programs put sessions. Its name is then a slash and its place.
type param struct{ name, value, written string }

// places are the names of segments.
var places = [...]string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"}

func (p param) inPath() bool { return p.name[0] == '/' }

func readAddress(url string) address {
	origin, path, query := split(url)
	a := address{url: url, origin: origin}
	if path != "" {
		a.segments = strings.Split(path[1:], "/")
	}
	for i, segment := range a.segments {
		if i < len(places) && token(segment) {
			a.params = append(a.params, param{name: places[i], value: segment})
		}
	}
	if query != "" {
		for part := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(part, "=")
			if name != "" {
				a.params = append(a.params, param{name: name, value: value, written: part})
			}
		}
	}
	a.shape = shapeOf(a.segments)
	return a
}

// queried returns how many parameters the query has.
func (a *address) queried() (n int) {
	for _, p := range a.params {
		if !p.inPath() {
			n++
		}
	}
	return n
}

// scripts are endings of names that are programs, not pages.
var scripts = endings("php asp aspx jsp jspx cgi do pl cfm py dll exe fcgi action")

func shapeOf(segments []string) string {
	var out strings.Builder
	for i, segment := range segments {
		out.WriteByte('/')
		dot := strings.LastIndexByte(segment, '.')
		switch last := i == len(segments)-1; {
		case segment == "":
		case token(segment):
			out.WriteByte('$')
		case number(segment):
			out.WriteByte('#')
		case dot > 0 && scripts[segment[dot+1:]], i == 0, i == 1 && !last:
			out.WriteString(mask(segment))
		case dot > 0 && len(segment)-dot < 8:
			out.WriteByte('*')
			out.WriteString(mask(segment[dot:]))
		default:
			out.WriteByte('*')
		}
	}
	return out.String()
}

// number reports whether a word is a whole number.
func number(word string) bool {
	for i := range len(word) {
		if !isDigit(word[i]) {
			return false
		}
	}
	return word != ""
}

// mask returns a text with # in place of its numbers.
func mask(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		switch {
		case !isDigit(text[i]):
			out = append(out, text[i])
		case i == 0 || !isDigit(text[i-1]):
			out = append(out, '#')
		}
	}
	return string(out)
}

// without returns the hash of the address without the value of one parameter.
func (a *address) without(name string) uint64 {
	d := xxhash.New()
	write := func(text string) {
		_, _ = d.WriteString(text) // a hash never fails
		_, _ = d.WriteString("\x00")
	}
	write(name)
	write(a.origin)
	for i, segment := range a.segments {
		if i < len(places) && name == places[i] && token(segment) {
			segment = "$"
		}
		write(segment)
	}
	write("?")
	for _, p := range a.params {
		if !p.inPath() && p.name != name {
			write(p.name)
			write(p.value)
		}
	}
	return d.Sum64()
}

// A Text is a text of a page, as far as it is compared with others.
type Text struct {
	exact uint64
	loose uint64 // without digits, so that "page 7" is "page 8"
}

// fewDigits is how many digits a text may have that is compared without them. In a text
// that has more, the numbers are what it says.
const fewDigits = 100

// Sum returns what is compared of the text of a page.
func Sum(text []byte) Text {
	loose := make([]byte, 0, len(text))
	for _, c := range text {
		if !isDigit(c) {
			loose = append(loose, c)
		}
	}
	sum := Text{exact: xxhash.Sum64(text)}
	sum.loose = sum.exact
	if len(text)-len(loose) <= fewDigits {
		sum.loose = xxhash.Sum64(loose)
	}
	return sum
}
