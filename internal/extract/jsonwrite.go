package extract

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const maxJSONIndent = 32 // values nested deeper are not set in further

var jsonIndent = "\n" + strings.Repeat("  ", maxJSONIndent)

// A jsonWriter writes a document in canonical form.
type jsonWriter struct {
	doc  *jsonDoc
	out  []byte
	full bool // there is more than may be written
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
	var members []jsonMember
	for i := at + 1; i < v.next; i = w.doc.values[i].next {
		name := w.doc.values[i]
		members = append(members, jsonMember{appendJSONString(nil, w.doc.src[name.start:name.end]), i + 1})
	}
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
