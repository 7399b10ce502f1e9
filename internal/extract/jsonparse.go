package extract

import (
	"bytes"
	"errors"
	"io"
)

const maxJSONDepth = 10_000

// A jsonDoc is a JSON document with the places of its values. A value is
// followed by the values within it, a member by its value.
type jsonDoc struct {
	src    []byte
	values []jsonValue
}

type jsonValue struct {
	start, end int32 // in the source
	next       int32 // the first value that is not within this one
}

func parseJSON(src []byte) (*jsonDoc, error) {
	if len(src) > maxTree {
		return nil, fail(FailLimit, asText, "the JSON document has %d bytes; the most is %d MiB", len(src), maxTree>>20)
	}
	p := jsonParser{jsonDoc: jsonDoc{src: src}}
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
