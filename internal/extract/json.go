package extract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// canonicalJSON returns a JSON document in a form that depends on nothing but
// what it says: object members sorted by name, strings with the fewest escapes,
// one value a line. Numbers stay as they are written, digit by digit. Of members
// with the same name the last one counts.
func canonicalJSON(src []byte) ([]byte, error) {
	d, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	return d.canonical()
}

// canonical returns the document as [canonicalJSON] does.
func (d *jsonDoc) canonical() ([]byte, error) {
	w := jsonWriter{doc: d, out: make([]byte, 0, len(d.src)+len(d.src)/2)}
	w.value(0, 0)
	if w.full {
		return nil, fail(FailLimit, "Use a JSONPath to watch only the part you need.", "the JSON document is longer than %d MiB when written line by line", maxText>>20)
	}
	return append(w.out, '\n'), nil
}

// validJSON reports whether src is a JSON document.
func validJSON(src []byte) bool {
	_, err := parseJSON(src)
	return err == nil
}

// nodeText writes a value: a string as it reads, any other value as canonical JSON.
func nodeText(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return orBlank(plainText([]byte(s))), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fail(FailParse, "", "write a selected value: %w", err)
	}
	return canonicalJSON(b.Bytes())
}

// orBlank returns text, or an empty line for none, so that each value that
// was selected shows.
func orBlank(text []byte) []byte {
	if len(text) == 0 {
		return []byte{'\n'}
	}
	return text
}

const maxJSONDepth = 10_000

// A jsonDoc is a JSON document with the places of its values. A value is
// followed by the values within it, a member by its value.
type jsonDoc struct {
	src    []byte
	whole  string // the source; empty until it is needed
	values []jsonValue
}

type jsonValue struct {
	start, end int32 // in the source
	next       int32 // the first value that is not within this one
}

func parseJSON(src []byte) (*jsonDoc, error) {
	src = withoutGuard(src)
	if len(src) > maxTree {
		return nil, fail(FailLimit, asText, "the JSON document has %d bytes; the most is %d MiB", len(src), maxTree>>20)
	}
	const perValue = 8 // bytes of source for a value or a name, at a guess
	p := jsonParser{jsonDoc: jsonDoc{src: src, values: make([]jsonValue, 0, len(src)/perValue+1)}}
	err := p.value(0)
	if err == nil {
		if p.space(); p.pos < len(src) {
			err = errors.New("more after the end of the document")
		}
	}
	if err != nil {
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		line := 1 + bytes.Count(src[:p.pos], []byte("\n"))
		column := p.pos - bytes.LastIndexByte(src[:p.pos], '\n')
		return nil, fail(FailParse, "Check that the URL returns JSON, or leave the kind out to have it detected.",
			"not a JSON document: %w at line %d, column %d", err, line, column)
	}
	return &p.jsonDoc, nil
}

// withoutGuard returns JSON without what some services write before it to keep scripts of other sites from
// running it.
func withoutGuard(src []byte) []byte {
	for _, guard := range []string{")]}'", "while(1);", "for(;;);"} {
		if rest, ok := bytes.CutPrefix(src, []byte(guard)); ok {
			return bytes.TrimPrefix(rest, []byte(","))
		}
	}
	return src
}

type jsonParser struct {
	jsonDoc
	pos int
}

func (p *jsonParser) space() {
	for p.pos < len(p.src) && (p.src[p.pos] == ' ' || p.src[p.pos] == '\n' || p.src[p.pos] == '\r' || p.src[p.pos] == '\t') {
		p.pos++
	}
}

// peek returns the next byte that is not white space, or 0 at the end.
func (p *jsonParser) peek() byte {
	if p.space(); p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *jsonParser) value(depth int) (err error) {
	if depth > maxJSONDepth {
		return fail(FailLimit, asText, "the JSON document nests deeper than %d", maxJSONDepth)
	}
	c := p.peek()
	at := len(p.values)
	p.values = append(p.values, jsonValue{start: int32(p.pos)})
	switch {
	case c == '{':
		err = p.members(depth)
	case c == '[':
		err = p.items(depth)
	case c == '"':
		err = p.string()
	case c == '-' || '0' <= c && c <= '9':
		err = p.number()
	case c == 0 && p.pos == len(p.src):
		err = io.ErrUnexpectedEOF
	default:
		err = p.literal()
	}
	p.values[at].end, p.values[at].next = int32(p.pos), int32(len(p.values))
	return err
}

func (p *jsonParser) members(depth int) error {
	p.pos++
	if p.peek() == '}' {
		p.pos++
		return nil
	}
	for {
		if p.peek() != '"' {
			return errors.New("expected a member name")
		}
		at := len(p.values)
		p.values = append(p.values, jsonValue{start: int32(p.pos)})
		if err := p.string(); err != nil {
			return err
		}
		p.values[at].end = int32(p.pos)
		if p.peek() != ':' {
			return errors.New("expected ':'")
		}
		p.pos++
		if err := p.value(depth + 1); err != nil {
			return err
		}
		p.values[at].next = int32(len(p.values))
		if done, err := p.another('}'); done || err != nil {
			return err
		}
	}
}

func (p *jsonParser) items(depth int) error {
	p.pos++
	if p.peek() == ']' {
		p.pos++
		return nil
	}
	for {
		if err := p.value(depth + 1); err != nil {
			return err
		}
		if done, err := p.another(']'); done || err != nil {
			return err
		}
	}
}

// another passes over a comma, or over end and reports that it was the end.
func (p *jsonParser) another(end byte) (done bool, err error) {
	switch p.peek() {
	case ',':
		p.pos++
		return false, nil
	case end:
		p.pos++
		return true, nil
	}
	return false, errors.New("expected ',' or '" + string(end) + "'")
}

func (p *jsonParser) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(p.src[p.pos:], []byte(word)) {
			p.pos += len(word)
			return nil
		}
	}
	return errors.New("expected a value")
}

func (p *jsonParser) string() error {
	for p.pos++; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return nil
		case c < 0x20:
			return errors.New("control character in a string")
		case c == '\\':
			p.pos++
			if p.pos == len(p.src) {
				return io.ErrUnexpectedEOF
			}
			switch p.src[p.pos] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if p.pos+4 >= len(p.src) || !isHex(p.src[p.pos+1:p.pos+5]) {
					return errors.New(`bad \u escape`)
				}
				p.pos += 4
			default:
				return errors.New("bad escape")
			}
		}
	}
	return io.ErrUnexpectedEOF
}

func isHex(b []byte) bool { return len(bytes.Trim(b, "0123456789abcdefABCDEF")) == 0 }

func (p *jsonParser) number() error {
	if p.src[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.src) && p.src[p.pos] == '0' {
		p.pos++
	} else if !p.digits() {
		return errors.New("bad number")
	}
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		p.pos++
		if !p.digits() {
			return errors.New("bad number")
		}
	}
	if p.pos < len(p.src) && p.src[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		if !p.digits() {
			return errors.New("bad number")
		}
	}
	return nil
}

// digits passes over digits and reports whether there were any.
func (p *jsonParser) digits() bool {
	start := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

const maxJSONIndent = 32 // values nested deeper are not set in further

var jsonIndent = "\n" + strings.Repeat("  ", maxJSONIndent)

// A jsonWriter writes a document in canonical form.
type jsonWriter struct {
	doc     *jsonDoc
	out     []byte
	full    bool // there is more than may be written
	names   []byte
	members []jsonMember // of the objects that are being written, those of the innermost last
}

func (w *jsonWriter) value(at int32, depth int) {
	if w.full = w.full || len(w.out) > maxText; w.full {
		return
	}
	v := w.doc.values[at]
	text := w.doc.src[v.start:v.end]
	switch text[0] {
	case '"':
		w.out = appendJSONString(w.out, text)
	case '{':
		w.object(at, v, depth)
	case '[':
		w.array(at, v, depth)
	default:
		w.out = append(w.out, text...)
	}
}

func (w *jsonWriter) array(at int32, v jsonValue, depth int) {
	w.out = append(w.out, '[')
	for i := at + 1; i < v.next; i = w.doc.values[i].next {
		if i > at+1 {
			w.out = append(w.out, ',')
		}
		w.line(depth + 1)
		w.value(i, depth+1)
	}
	if v.next > at+1 {
		w.line(depth)
	}
	w.out = append(w.out, ']')
}

// A jsonMember is a member of an object.
type jsonMember struct {
	name  []byte // in canonical form
	value int32
}

func (w *jsonWriter) object(at int32, v jsonValue, depth int) {
	outer, outerNames := len(w.members), len(w.names)
	defer func() { w.members, w.names = w.members[:outer], w.names[:outerNames] }()
	for i := at + 1; i < v.next; i = w.doc.values[i].next {
		name, from := w.doc.values[i], len(w.names)
		w.names = appendJSONString(w.names, w.doc.src[name.start:name.end])
		w.members = append(w.members, jsonMember{w.names[from:], i + 1})
	}
	members := w.members[outer:]
	slices.SortStableFunc(members, func(a, b jsonMember) int {
		return cmp.Or(bytes.Compare(a.name, b.name), cmp.Compare(b.value, a.value)) // the last of equals first
	})
	members = slices.CompactFunc(members, func(a, b jsonMember) bool { return bytes.Equal(a.name, b.name) })
	w.out = append(w.out, '{')
	for i, m := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.line(depth + 1)
		w.out = append(append(w.out, m.name...), ": "...)
		w.value(m.value, depth+1)
	}
	if len(members) > 0 {
		w.line(depth)
	}
	w.out = append(w.out, '}')
}

func (w *jsonWriter) line(depth int) {
	w.out = append(w.out, jsonIndent[:1+2*min(depth, maxJSONIndent)]...)
}

// appendJSONString appends a valid JSON string with no more escapes than it
// needs to stay on one line.
func appendJSONString(dst, quoted []byte) []byte {
	dst = append(dst, '"')
	for s := quoted[1 : len(quoted)-1]; len(s) > 0; {
		n := 0
		for n < len(s) && s[n] != '\\' && looks[s[n]] == solid || n < len(s) && s[n] == ' ' {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		r, size := unescapeJSON(s)
		dst = appendJSONRune(dst, r)
		s = s[size:]
	}
	return append(dst, '"')
}

// unescapeJSON returns the rune at the start of s, escaped or not.
func unescapeJSON(s []byte) (r rune, size int) {
	if s[0] != '\\' {
		return utf8.DecodeRune(s)
	}
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hexRune(s[2:6])
		if utf16.IsSurrogate(r) {
			if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(s[8:12])); pair != utf8.RuneError {
					return pair, 12
				}
			}
			return utf8.RuneError, 6
		}
		return r, 6
	}
	return rune(s[1]), 2
}

func hexRune(b []byte) rune {
	n, err := strconv.ParseUint(string(b), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

func appendJSONRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < 0x20 || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
		return append(append(dst, `\u`...), strconv.FormatInt(0x10000+int64(r), 16)[1:]...)
	}
	return utf8.AppendRune(dst, r)
}
