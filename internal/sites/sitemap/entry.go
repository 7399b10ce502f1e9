package sitemap

import (
	"bytes"
	"strconv"
	"strings"

	"freshet/internal/dates"
)

// MaxEntries and MaxBytes are how many entries and uncompressed bytes the protocol
// allows one sitemap to have. Longer ones are read on, up to Limits, and reported.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20
)

// An Entry is what a list says of one page, or of one sitemap.
type Entry struct {
	// URL is absolute wherever that can be had. It is what the list says and not
	// safe to fetch: it can have another scheme, and lead to any host.
	URL     string
	Sitemap bool // it is a list itself, and no page
	Line    int  // on which the entry begins; 0 if that is not known

	// LastMod is when the page changed last: lastmod, updated or, in feeds that
	// have nothing better, when it was published. Published is when it came out, as
	// the news extension and feeds say it.
	LastMod   dates.Date
	Published dates.Date

	ChangeFreq string  // always, hourly, daily, weekly, monthly, yearly or never; "" if it does not say
	Priority   float64 // from 0 to 1; 0.5 if it does not say

	Alternates []Alternate // the same page in other languages
}

// An Alternate is a page in another language.
type Alternate struct {
	Lang string // as in hreflang: de, pt-BR, x-default
	URL  string
}

// A Kind is the format of a list.
type Kind string

// The kinds of lists.
const (
	URLSet   Kind = "urlset"       // a sitemap
	Index    Kind = "sitemapindex" // a list of sitemaps
	Text     Kind = "text"         // one URL a line
	RSS      Kind = "rss"          // a feed, RDF included
	Atom     Kind = "atom"
	JSONFeed Kind = "jsonfeed"
)

// A Summary says how reading went.
type Summary struct {
	Kind     Kind
	Pages    int   // handed over
	Sitemaps int   // handed over
	Bytes    int64 // read, uncompressed
	Gzip     int   // how many layers of gzip there were

	// Complete says that the list was read to its end. A page that is missing on
	// a list that is not complete is not gone.
	Complete bool

	// Problems has what is wrong with the list, one for each kind of fault, in the
	// order in which they were met.
	Problems []Problem
}

// A Problem is one kind of fault of a list.
type Problem struct {
	Line  int    `json:"line,omitempty"` // of the first; 0 if that is not known
	Text  string `json:"problem"`        // what is wrong with the first
	Count int    `json:"count"`          // of such faults
}

// fault is a kind of problem.
type fault uint8

const (
	faultNoURL fault = iota
	faultLongURL
	faultLongerURL
	faultScheme
	faultRelative
	faultNoScheme
	faultSpelling
	faultBytes
	faultHost
	faultDate
	faultNoDate
	faultFuture
	faultValue
	faultUnclosed
	faultMarkup
	faultDoctype
	faultSpace
	faultRoot
	faultCharset
	faultLine
	faultGzip
	faultManyEntries
	faultManyBytes
	faultStopped
	faultCut
	faultAlternates
	faults
)

// quoted returns what a list says for a problem: bounded, and on one line.
func quoted(s []byte) string {
	const most = 80
	out := make([]rune, 0, most)
	for _, r := range string(s[:min(len(s), 4*most)]) {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			r = ' '
		}
		if len(out) == most {
			out = append(out[:most-1], '…')
			break
		}
		out = append(out, r)
	}
	return `"` + string(out) + `"`
}

// A draft is an entry that is being read.
type draft struct {
	line       int
	kind       element
	url        []byte
	tooLong    bool
	id         []byte // what an item of a feed is known by, mostly a link
	notLink    bool   // the feed says that the id is none
	modified   dates.Date
	published  dates.Date
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
