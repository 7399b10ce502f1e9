package sitemap

import (
	"bytes"
	"fmt"
	"strings"
)

// enoughLines is how many lines without any URL show that there will be none.
const enoughLines = 1000

// readText reads a list of one URL a line. Empty lines and those that begin with a #
// are passed over, and so is what follows a tab.
func (d *document) readText(w *window) error {
	lines := 0
	for w.pos < w.end || w.more() {
		at := w.at()
		n := w.find('\n')
		if n < 0 {
			n = w.end - w.pos
			if w.full() {
				w.pass("\n")
				d.note(faultLine, at, "a line is longer than %d bytes", windowBytes)
				continue
			}
		}
		for raw := range bytes.SplitSeq(w.buf[w.pos:w.pos+n], []byte{'\r'}) { // which ended lines once
			if err := d.line(trim(raw), at); err != nil {
				return err
			}
		}
		w.pos = min(w.pos+n+1, w.end)
		if lines++; lines == enoughLines && d.Pages == 0 {
			break
		}
	}
	if d.Pages == 0 {
		return fmt.Errorf("%w: it is text without any URL", ErrNotSitemap)
	}
	d.Kind, d.Complete = Text, true
	return nil
}

// line takes a line of a plain list.
func (d *document) line(raw []byte, at int) error {
	if len(raw) == 0 || raw[0] == '#' {
		return nil
	}
	raw, _, _ = bytes.Cut(raw, []byte{'\t'})
	_, absolute := cutWebScheme(string(raw[:min(len(raw), 10)]))
	if !absolute && (strings.ContainsAny(string(raw), " \x00\ufffd") || !d.isHost(string(raw)) && (d.base == nil || raw[0] != '/')) {
		d.note(faultLine, at, "%s is not a URL", quoted(raw))
		return nil
	}
	url, ok := d.resolve(raw, at)
	if !ok {
		return nil
	}
	return d.hand(Entry{URL: url, Line: at, Priority: 0.5})
}

// trim returns b without white space and byte order marks around it.
func trim(b []byte) []byte {
	for len(b) > 0 {
		switch {
		case b[0] <= ' ':
			b = b[1:]
		case b[len(b)-1] <= ' ':
			b = b[:len(b)-1]
		case len(b) >= 2 && b[0] == 0xc2 && b[1] == 0xa0: // a space that does not break
			b = b[2:]
		case len(b) >= 2 && b[len(b)-2] == 0xc2 && b[len(b)-1] == 0xa0:
			b = b[:len(b)-2]
		case len(b) >= 3 && (string(b[:3]) == "\ufeff" || string(b[:3]) == "\u200b"):
			b = b[3:]
		case len(b) >= 3 && (string(b[len(b)-3:]) == "\ufeff" || string(b[len(b)-3:]) == "\u200b"):
			b = b[:len(b)-3]
		default:
			return b
		}
	}
	return b
}
