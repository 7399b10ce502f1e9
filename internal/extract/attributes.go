package extract

import "bytes"

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
