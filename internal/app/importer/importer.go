package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
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
	Urlwatch        Format = "urlwatch"        // urls.yaml of urlwatch
	Webchanges      Format = "webchanges"      // jobs.yaml of webchanges
	Changedetection Format = "changedetection" // url-watches.json, the list of the API, or a data folder
	Distill         Format = "distill"         // an export of Distill Web Monitor
	Huginn          Format = "huginn"          // a scenario of Huginn
)

// Formats are all formats.
var Formats = []Format{URLs, CSV, OPML, Bookmarks, Urlwatch, Webchanges, Changedetection, Distill, Huginn}

// A reader calls yield for each entry of a text until yield returns an error, which it returns.
type reader func(text string, o Options, yield func(Entry) error) error

// readers returns how each format is read.
func readers() map[Format]reader {
	return map[Format]reader{
		URLs: eachLine, CSV: eachRow, OPML: eachOutline, Bookmarks: eachBookmark, Urlwatch: eachJob, Webchanges: eachJob,
		Changedetection: eachWatch, Distill: eachMonitor, Huginn: eachAgent,
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
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = string(f)
	}
	return "", invalid.Errorf("format", "%.80q is not a format; use %s", name, strings.Join(names, ", "))
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

// An Entry is one page of a list.
type Entry struct {
	Line   int    // line on which it begins; zero if the format has none
	Path   string // path into the document, if the format has no lines
	Source client.NewSource
	Notes  []string // the settings that are not carried over, with the nearest that exists
	Err    error    // why the entry cannot be a source
}

// At returns where the entry is in the list.
func (e *Entry) At() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d", e.Line)
	}
	return e.Path
}

// MaxEntries is the largest number of entries that Read accepts.
const MaxEntries = 10_000

// ErrUnknownFormat is returned for a text in no known format.
var ErrUnknownFormat = errors.New("the format is not known")

// Read returns the entries of a list, or an error if the list does not have the format. Invalid
// entries have their own error.
func Read(format Format, text string, o Options) (entries []Entry, err error) {
	n := 0
	err = Each(format, text, o, func(e Entry) error {
		if n++; n <= MaxEntries {
			entries = append(entries, e)
		}
		return nil
	})
	if n > MaxEntries {
		return nil, fmt.Errorf("the list has %d entries; import at most %d at a time", n, MaxEntries)
	}
	return entries, err
}

// Each calls yield for each entry of a list until yield returns an error, which Each returns. It
// does not keep entries in memory, except those of one document.
func Each(format Format, text string, o Options, yield func(Entry) error) error {
	read := readers()[format]
	if read == nil {
		_, err := ParseFormat(string(format))
		return err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return read(text, o, func(e Entry) error {
		e.settle()
		return yield(e)
	})
}

// notef adds a note.
func (e *Entry) notef(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// settle leaves out the settings that no source can have, with a note for each, so that the rest
// of the entry is not lost.
func (e *Entry) settle() {
	for e.Err == nil {
		err := check(e.Source)
		if err == nil {
			return
		}
		field, _ := invalid.FieldOf(err)
		if !e.drop(field, invalid.ReasonOf(err)) {
			e.Err = err
		}
	}
}

// check returns why a definition is no source.
func check(n client.NewSource) error {
	s, err := n.Defined()
	if err != nil {
		return err
	}
	if s, err = s.Check(); err != nil {
		return err
	}
	return extract.Check(s.Recipe)
}

// drop removes an invalid setting, and reports whether there was one.
func (e *Entry) drop(field string, reason error) bool {
	section, rest, _ := strings.Cut(field, ".")
	name, index, indexed := strings.Cut(section, "[")
	n := -1
	if indexed {
		_, _ = fmt.Sscanf(index, "%d]", &n)
	}
	switch {
	case name == "read" && n >= 0 && n < len(e.Source.Read):
		e.notef("the step %s is not carried over: %v", inJSON(e.Source.Read[n]), reason)
		e.Source.Read = slices.Delete(e.Source.Read, n, n+1)
	case name == "request" && e.Source.Request != nil:
		e.dropRequest(rest, reason)
	case name == "render" && e.Source.Render != nil && e.Source.Render != true:
		e.notef("the settings of rendering are not carried over: %s %v", field, reason)
		e.Source.Render = true
	case name == "extract" && e.Source.Extract != nil:
		e.notef("the values to extract are not carried over: %s %v", field, reason)
		e.Source.Extract = nil
	case name == "expect" && e.Source.Expect != nil:
		e.notef("the responses that count are not carried over: %s %v", field, reason)
		e.Source.Expect = nil
	case name == "tags" && len(e.Source.Tags) > 0:
		e.dropTag(reason)
	case name == "level" && e.Source.Level != "", name == "max_gap" && e.Source.MaxGap != 0:
		e.notef("the time between two checks is not carried over: %v", reason)
		e.Source.Level, e.Source.MaxGap = "", 0
	case name == "name" && e.Source.Name != "":
		e.notef("the name is not carried over: %v", reason)
		e.Source.Name = ""
	default:
		return false
	}
	return true
}

// dropRequest removes the part of the request that a field names.
func (e *Entry) dropRequest(field string, reason error) {
	section, name, _ := strings.Cut(field, ".")
	section, _, _ = strings.Cut(section, "[")
	if part, ok := e.Source.Request[section].(map[string]any); ok && part[name] != nil {
		e.notef("%s %s of the request is not carried over: %v", section, name, reason)
		if delete(part, name); len(part) == 0 {
			delete(e.Source.Request, section)
		}
	} else if _, ok := e.Source.Request[section]; ok {
		e.notef("%s of the request is not carried over: %v", section, reason)
		delete(e.Source.Request, section)
	} else {
		e.notef("the request is not carried over: %v", reason)
		e.Source.Request = nil
	}
	if len(e.Source.Request) == 0 {
		e.Source.Request = nil
	}
}

// dropTag removes the first tag that makes a source invalid.
func (e *Entry) dropTag(reason error) {
	bad := slices.IndexFunc(e.Source.Tags, func(tag string) bool {
		return check(client.NewSource{URL: e.Source.URL, Tags: []string{tag}}) != nil
	})
	if bad < 0 {
		bad = len(e.Source.Tags) - 1 // there are too many
	}
	e.notef("the tag %.80q is not carried over: %v", e.Source.Tags[bad], reason)
	e.Source.Tags = slices.Delete(e.Source.Tags, bad, bad+1)
}

// request returns the request of the source, to add to.
func (e *Entry) request() map[string]any {
	if e.Source.Request == nil {
		e.Source.Request = map[string]any{}
	}
	return e.Source.Request
}

// step adds a step that reads the response.
func (e *Entry) step(name string, arg any) {
	e.Source.Read = append(e.Source.Read, map[string]any{name: arg})
}

// every carries over the time between two checks.
func (e *Entry) every(d time.Duration, o Options) {
	switch {
	case d <= 0 || o.Intervals == Ignored:
	case o.Intervals == AsGaps:
		e.Source.MaxGap = client.Duration(d)
	default:
		e.Source.Level = "90% within " + client.Duration(d).String()
	}
}

// inJSON returns a value as users write it in JSON.
func inJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// Complete adds https:// to a URL without a scheme.
func Complete(url string) string {
	if scheme, _, ok := strings.Cut(url, ":"); ok && !strings.Contains(scheme, ".") && !strings.Contains(scheme, "/") && scheme != "localhost" {
		return url
	}
	return "https://" + url
}

// tagsOf returns names as valid tags, each once.
func tagsOf(names ...string) (tags []string) {
	for _, name := range names {
		name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }), "-")
		name = strings.Trim(name, "#-")
		if name != "" && !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
	}
	return tags
}

// textOf returns a scalar as text, without white space around it.
func textOf(v any) string {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strings.TrimSpace(inJSON(v))
	}
	return fmt.Sprint(v)
}

// textsOf returns a text, or the texts of a list.
func textsOf(v any) (texts []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		if text := textOf(one); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// watchable reports whether a text is a URL that a source can have.
func watchable(url string) bool {
	_, err := freshet.Source{URL: Complete(url)}.Check()
	return err == nil
}
