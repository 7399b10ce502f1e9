package sitemap

import (
	"bytes"
	"strconv"
	"strings"
)

// A draft is an entry that is being read.
type draft struct {
	line       int
	kind       element
	url        []byte
	tooLong    bool
	id         []byte // what an item of a feed is known by, mostly a link
	notLink    bool   // the feed says that the id is none
	modified   Date
	published  Date
	freq       string
	priority   float64
	alternates []Alternate
}

// endField takes the text of a field. The first of several counts.
func (x *xmlReader) endField() {
	d := &x.entry
	value := trim(x.value)
	switch x.field {
	case loc, link:
		if len(x.value) > maxURL {
			d.tooLong = true
		} else if len(d.url) == 0 {
			d.url = append(d.url, value...)
		}
	case guid:
		if len(d.id) == 0 && len(x.value) <= maxURL {
			d.id = append(d.id, value...)
		}
	case lastmod, updated:
		if d.modified.IsZero() {
			d.modified = x.date(value, d.line)
		}
	case newsDate, published:
		if d.published.IsZero() {
			d.published = x.date(value, d.line)
		}
	case changefreq:
		d.freq = x.frequency(value)
	case priority:
		if p, err := strconv.ParseFloat(string(value[:min(len(value), 20)]), 64); err == nil && p >= 0 && p <= 1 {
			d.priority = p
		} else if len(value) > 0 {
			x.note(faultValue, d.line, "the priority %s is not a number from 0 to 1", quoted(value))
		}
	}
	x.field = other
}

var frequencies = [...]string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// frequency reads a changefreq.
func (x *xmlReader) frequency(value []byte) string {
	for _, f := range frequencies {
		if strings.EqualFold(f, string(value)) {
			return f
		}
	}
	if len(value) > 0 {
		x.note(faultValue, x.entry.line, "the changefreq %s is none that there is", quoted(value))
	}
	return ""
}

// endEntry hands the entry over.
func (x *xmlReader) endEntry() error {
	if x.field != other {
		x.endField()
	}
	x.within = -1
	d := &x.entry
	raw := d.url
	if len(raw) == 0 && d.kind == item && !d.notLink && bytes.Contains(d.id, []byte("://")) {
		raw = d.id
	}
	if len(raw) == 0 {
		x.noURL(d)
		return nil
	}
	url, ok := x.resolve(raw, d.line)
	if !ok {
		return nil
	}
	e := Entry{
		URL: url, Sitemap: d.kind == nested, Line: d.line, LastMod: d.modified, Published: d.published,
		ChangeFreq: d.freq, Priority: d.priority, Alternates: d.alternates,
	}
	if d.kind == item && e.LastMod.IsZero() {
		e.LastMod = e.Published
	}
	return x.hand(e)
}

// noURL reports an entry without a URL.
func (x *xmlReader) noURL(d *draft) {
	if d.tooLong {
		x.note(faultLongerURL, d.line, "a URL is longer than %d bytes; its entry is left out", maxURL)
		return
	}
	x.note(faultNoURL, d.line, "an entry has no URL and is left out")
}
