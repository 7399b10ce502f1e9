package sitemap

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"freshet/internal/dates"
)

// ErrNotSitemap means that what was read is no list of pages.
var ErrNotSitemap = errors.New("not a sitemap")

// Options say how to read a list. The zero Options will do.
type Options struct {
	Base    string // the list's own URL, against which others are resolved
	Charset string // that the server names; "" if it names none

	// Now is when the list was fetched. Dates beyond it are reported. Zero means
	// that this is not known.
	Now time.Time

	Limits Limits
}

// Limits bound what is read of a list. What comes behind a limit is not read, and
// the Summary says so.
type Limits struct {
	Entries int   // 250,000
	Bytes   int64 // packed and unpacked; 250 MiB
	Ratio   int64 // of unpacked to packed bytes, beyond 1 MiB; 200
}

func (l Limits) filled() Limits {
	return Limits{
		Entries: cmp.Or(l.Entries, 5*MaxEntries),
		Bytes:   cmp.Or(l.Bytes, 5*MaxBytes),
		Ratio:   cmp.Or(l.Ratio, 200),
	}
}

// maxURL is the longest URL that is read; the protocol wants less than longURL.
const (
	maxURL  = 8 << 10
	longURL = 2048
)

// Read reads a list and calls each with its entries, in their order.
//
// A list with faults is read as far as it makes sense: the Summary has the problems
// and whether the end was reached. The error is one of each, of r, or says why the
// list was refused: ErrNotSitemap, ErrBomb, ErrEntities. What each was called with
// before holds even so.
func Read(r io.Reader, o Options, each func(Entry) error) (Summary, error) {
	o.Limits = o.Limits.filled()
	d := document{options: o, each: each}
	if o.Base != "" {
		base, err := url.Parse(o.Base)
		if err != nil || base.Host == "" {
			return d.Summary, fmt.Errorf("the URL %s of the sitemap is not absolute", quoted([]byte(o.Base)))
		}
		d.base = base
	}
	err := d.read(r)
	d.Gzip = d.in.layers
	if d.in.out != nil {
		d.Bytes = d.in.out.n
	}
	if d.Bytes > MaxBytes {
		d.note(faultManyBytes, 0, "it has more than the %d MB that a sitemap may have", MaxBytes>>20)
	}
	if err != nil {
		d.Complete = false
	}
	return d.Summary, err
}

// A document is a list that is being read.
type document struct {
	Summary
	options Options
	each    func(Entry) error
	base    *url.URL
	in      input
	place   [faults]int // of each fault among the problems, counted from 1
}

func (d *document) read(r io.Reader) error {
	plain, err := d.in.unpack(r, d.options)
	if err != nil {
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: it is empty", ErrNotSitemap)
		case d.in.layers > 0 && isGzipFault(err):
			return fmt.Errorf("%w: %w", ErrNotSitemap, err)
		}
		return err
	}
	if d.in.strays != "" {
		d.note(faultCharset, 1, "%s", d.in.strays)
	}
	w := newWindow(plain)
	for w.end < headBytes && w.more() {
	}
	err = d.readAs(w)
	if err == nil || errors.Is(err, errEnough) {
		if err := d.ended(w, err); err != nil {
			return err
		}
		err = nil
	}
	return err
}

// readAs reads a document as what its start looks like.
func (d *document) readAs(w *window) error {
	head := trim(w.rest())
	switch {
	case len(head) == 0:
		if fine(w.err) {
			return fmt.Errorf("%w: it is empty", ErrNotSitemap)
		}
		return nil
	case head[0] == '{':
		return d.readJSON(w)
	case head[0] == '<', looksLikeXML(head):
		return d.readXML(w)
	}
	return d.readText(w)
}

// ended looks at why a document ended: at its end, at a limit, or too early.
func (d *document) ended(w *window, err error) error {
	err = cmp.Or(err, w.err)
	switch {
	case fine(err):
		return nil
	case errors.Is(err, errEnough):
		d.Complete = false
		d.note(faultStopped, 0, "only its first %d entries and %d bytes are read; the limits are %d entries and %d bytes",
			d.Pages+d.Sitemaps, d.in.out.n, d.options.Limits.Entries, d.options.Limits.Bytes)
		return nil
	case d.in.layers > 0 && isGzipFault(err) || errors.Is(err, io.ErrUnexpectedEOF):
		d.Complete = false
		d.note(faultGzip, w.at(), "it breaks off or is damaged: %v", err)
		if d.Pages+d.Sitemaps == 0 {
			return fmt.Errorf("%w: %w", ErrNotSitemap, err)
		}
		return nil
	}
	return err
}

// fine reports whether reading ended as it should.
func fine(err error) bool { return err == nil || err == io.EOF }

// note records a fault.
func (d *document) note(f fault, line int, format string, args ...any) {
	if i := d.place[f]; i > 0 {
		d.Problems[i-1].Count++
		return
	}
	d.Problems = append(d.Problems, Problem{Line: line, Text: fmt.Sprintf(format, args...), Count: 1})
	d.place[f] = len(d.Problems)
}

// hand hands over an entry.
func (d *document) hand(e Entry) error {
	if d.Pages+d.Sitemaps == d.options.Limits.Entries {
		return errEnough
	}
	if e.Sitemap {
		d.Sitemaps++
	} else {
		d.Pages++
	}
	if d.Pages+d.Sitemaps == MaxEntries+1 {
		d.note(faultManyEntries, e.Line, "it has more than the %d entries that a sitemap may have", MaxEntries)
	}
	return d.each(e)
}

// date reads a date, and reports what is no date, stands for none, or lies ahead.
func (d *document) date(text []byte, line int) dates.Date {
	if text = trim(text); len(text) == 0 {
		return dates.Date{}
	}
	at, ok := dates.Parse(text)
	switch {
	case !ok && !at.Time.IsZero(), isZeros(text):
		d.note(faultNoDate, line, "the date %s stands for none", quoted(text))
		return dates.Date{}
	case !ok:
		d.note(faultDate, line, "%s is not a date that can be read", quoted(text))
		return dates.Date{}
	case !d.options.Now.IsZero() && at.Time.After(d.options.Now.Add(aheadOf(at))):
		d.note(faultFuture, line, "the date %s lies in the future", quoted(text))
	}
	return at
}

// aheadOf returns by how much a date may seem to lie ahead: clocks differ, and a
// day has begun elsewhere before it does in UTC.
func aheadOf(d dates.Date) time.Duration {
	if d.Precision <= dates.Day {
		return 14 * time.Hour
	}
	return 10 * time.Minute
}

// isZeros reports whether a date has no digit but 0: 0000-00-00.
func isZeros(text []byte) bool {
	zeros := 0
	for _, c := range text {
		if c >= '1' && c <= '9' {
			return false
		}
		if c == '0' {
			zeros++
		}
	}
	return zeros > 0
}
