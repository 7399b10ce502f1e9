package sitemap

import (
	"bytes"
	"io"
)

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
