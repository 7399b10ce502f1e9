package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"freshet/internal/extract"
	"freshet/internal/invalid"
)

// A Format is a file format of lists of pages.
type Format string

// The formats.
const (
	URLs            Format = "urls"            // a URL on each line, followed by tags
	CSV             Format = "csv"             // a table with a column of URLs
	OPML            Format = "opml"            // exported by feed readers
	Bookmarks       Format = "bookmarks"       // exported by browsers
	Urlwatch        Format = "urlwatch"        // urls.yaml and urlwatch.yaml of urlwatch
	Webchanges      Format = "webchanges"      // jobs.yaml and config.yaml of webchanges
	Changedetection Format = "changedetection" // url-watches.json, the list of the API, or a data folder
	Distill         Format = "distill"         // an export of Distill Web Monitor
	Huginn          Format = "huginn"          // a scenario of Huginn
	WARC            Format = "warc"            // responses that a crawler stored
	TimeMap         Format = "timemap"         // versions that a web archive has of a page
)

// Formats are all formats.
var Formats = []Format{URLs, CSV, OPML, Bookmarks, Urlwatch, Webchanges, Changedetection, Distill, Huginn, WARC, TimeMap}

// A reader calls yield for each entry of a text.
type reader func(text string, o Options, yield func(Entry)) error

// readers returns how each format is read.
func readers() map[Format]reader {
	return map[Format]reader{
		URLs: eachLine, CSV: eachRow, OPML: eachOutline, Bookmarks: eachBookmark, Urlwatch: eachJob(Urlwatch), Webchanges: eachJob(Webchanges),
		Changedetection: eachWatch, Distill: eachMonitor, Huginn: eachAgent, WARC: eachCapture, TimeMap: eachOriginal,
	}
}

// ParseFormat returns the format that users write as name. "list" is the old name of [URLs], and
// Miniflux exports OPML.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "list":
		return URLs, nil
	case "miniflux":
		return OPML, nil
	}
	if f := Format(name); slices.Contains(Formats, f) {
		return f, nil
	}
	names := strings.Trim(fmt.Sprint(Formats), "[]")
	return "", invalid.Errorf("format", "%.80q is not a format; use %s", name, strings.ReplaceAll(names, " ", ", "))
}

// Options say how settings are carried over.
type Options struct {
	Intervals Intervals
}

// Intervals say what becomes of the time between two checks of a page.
type Intervals string

// The treatments of intervals.
const (
	AsLevels Intervals = "as-levels" // most changes are to be captured within it; the budget decides how
	AsGaps   Intervals = "as-gaps"   // the page is polled so often
	Ignored  Intervals = "ignore"
)

// ParseIntervals returns the treatment that users write as name; "" is [AsLevels].
func ParseIntervals(name string) (Intervals, error) {
	switch i := Intervals(name); i {
	case "":
		return AsLevels, nil
	case AsLevels, AsGaps, Ignored:
		return i, nil
	}
	return "", invalid.Errorf("intervals", "%.80q is not one of as-levels, as-gaps and ignore", name)
}

// MaxEntries is how many entries a list may have that is added at once.
const MaxEntries = 10_000

// ErrUnknownFormat is returned for a text in no known format.
var ErrUnknownFormat = errors.New("the format is not known")

// Each calls yield for each entry of a list until yield returns an error, which Each returns. It
// does not keep entries in memory, except those of one document.
func Each(format Format, text string, o Options, yield func(Entry) error) error {
	read := readers()[format]
	if read == nil {
		_, err := ParseFormat(string(format))
		return err
	}
	if format != WARC {
		text = asUTF8(text)
	}
	return settled(yield, func(yield func(Entry)) error { return read(text, o, yield) })
}

// asUTF8 returns a text as UTF-8 without a byte order mark, whatever it is encoded in.
func asUTF8(text string) string {
	if utf8.ValidString(text) {
		return strings.TrimPrefix(text, "\ufeff")
	}
	decoded, err := extract.HTML("", []byte(text)) // which knows the declarations of XML, too
	if err != nil {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return string(decoded)
}

// settled calls yield for each entry, as it is to be added, until yield returns an error, which it returns.
func settled(yield func(Entry) error, each func(yield func(Entry)) error) (stopped error) {
	err := each(func(e Entry) {
		if stopped == nil {
			e.settle()
			stopped = yield(e)
		}
	})
	return cmp.Or(stopped, err)
}
