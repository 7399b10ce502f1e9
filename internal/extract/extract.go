package extract

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
	"freshet/internal/lazyregexp"
)

// Limits on what is read whole into a tree. Pages and plain text without a
// selector are read in one pass and need none but the fetcher's.
const (
	maxTree  = 4 << 20  // bytes of a document that is not HTML
	maxPage  = 16 << 20 // bytes of HTML to select from, of which the elements are counted, too
	maxText  = 32 << 20 // bytes of extracted text
	maxTitle = 300      // runes
)

// A Reading is what a response says. Its JSON is for the children of a Reader.
type Reading struct {
	Text  []byte       `json:"-"`
	Title string       `json:"title,omitempty"` // of the page or feed, if it has one
	Kind  reading.Kind `json:"kind,omitempty"`  // how it was read; never Auto

	// Modified is the date of the newest item of a feed or of the page on a sitemap that
	// changed last, zero if there is none. The source may be wrong: it can lie in the future.
	Modified time.Time `json:"modified,omitzero"`

	// Dates are when the newest items of a feed came out, the newest first, each moment
	// once. The source may be wrong about them, too.
	Dates []time.Time `json:"dates,omitempty"`

	// FreshFor is for how long a feed says that it stays as it is, zero if it does
	// not say.
	FreshFor time.Duration `json:"fresh_for,omitempty"`

	// Announced is when a feed says that it is updated: its schedule, from the moment that
	// it counts from, and its hours and days of rest.
	Announced evidence.Announcement `json:"foretold,omitzero"`

	Fields  freshet.Fields    `json:"fields,omitempty"`  // named values, if the recipe asks for any; nil where there is none
	Missing map[string]string `json:"missing,omitempty"` // why there is none
	Items   Items             `json:"-"`                 // of a feed, a table, a list; at most 1,000

	Steps []Trace `json:"steps,omitempty"` // what each step made of it, if that was asked for
}

// Extract reads the body of resp as r says. It is pure: the same arguments give
// the same reading. The error is an *Error, or an *invalid.Error if the
// recipe itself is wrong.
//
// Reading with a selector can take arbitrarily long; see [Reader].
func Extract(r reading.Recipe, resp freshet.Response) (Reading, error) {
	p, err := compile(r)
	if err != nil {
		return Reading{}, err
	}
	return p.read(resp, nil)
}

// read runs the program on a response, and calls watch after each step if it is not nil.
func (p program) read(resp freshet.Response, watch func(step, value, time.Duration)) (Reading, error) {
	doc := newDocument(p.kind, resp)
	start := value{form: documentForm, doc: doc}
	rd := Reading{Kind: doc.kind}
	if rd.Kind == "" {
		rd.Kind = reading.Text
	}
	end, err := through(p.steps, start, watch)
	if err != nil {
		return Reading{}, err
	}
	if p.items != nil {
		var found value
		if rd.Items, found, err = p.items.items(start, end); err != nil {
			return Reading{}, err
		}
		if len(p.steps) == 0 && p.items.find != nil {
			end = found
		}
	} else {
		rd.Items = itemsOf(end)
	}
	if err := p.finish(&rd, end); err != nil {
		return Reading{}, err
	}
	if end.named && len(end.items) == 1 { // one match: its groups name values
		rd.Fields, rd.Items = end.items[0].Fields, Items{}
	}
	return rd, p.takeFields(&rd, start)
}

// finish completes a reading by what the steps made of the response.
func (p program) finish(rd *Reading, end value) error {
	if end.form == documentForm {
		g, err := end.doc.read()
		if err != nil && p.kind == reading.Auto && (end.doc.kind == reading.PDF || isOffice(end.doc.kind) || end.doc.kind == reading.ICal) {
			g, err = glance{text: describe(end.doc.body, end.doc.media)}, nil // nobody said that it can be read
			rd.Kind = reading.Text
		}
		if err != nil {
			return err
		}
		rd.Text, rd.Title, rd.Modified, rd.Dates, rd.FreshFor, rd.Announced = g.text, g.title, g.modified, g.dates, g.freshFor, g.announced
		if end.title != "" {
			rd.Title = end.title
		}
	} else {
		text, err := end.plain()
		if err != nil {
			return err
		}
		if end.form == textForm || end.form == itemsForm { // a step may have left it in any order
			text = plainText(text)
		}
		rd.Text, rd.Title, rd.Modified, rd.Dates, rd.FreshFor, rd.Announced = text, end.title, end.modified, end.dates, end.freshFor, end.announced
	}
	if len(rd.Text) > maxText {
		return fail(FailLimit, "Use a selector to watch only the part you need.", "the text is longer than %d MiB", maxText>>20)
	}
	return nil
}

// takeFields takes the named values from the response as it came.
func (p program) takeFields(rd *Reading, start value) error {
	if len(p.fields) == 0 {
		return nil
	}
	if rd.Fields == nil {
		rd.Fields = freshet.Fields{}
	}
	for _, f := range p.fields {
		v, missing, err := f.take(start)
		if err != nil {
			return step{field: f.field}.blame(err)
		}
		if rd.Fields[f.name] = v; missing != nil {
			if rd.Missing == nil {
				rd.Missing = map[string]string{}
			}
			rd.Missing[f.name] = missing.Error()
		}
	}
	if text, err := json.Marshal(rd.Fields); err != nil || len(text) > maxFieldBytes {
		return fail(FailLimit, "Select less.", "the named values take more than %d KiB", maxFieldBytes>>10)
	}
	return nil
}

// dateOf returns the time at which the server says it answered.
func dateOf(resp freshet.Response) time.Time {
	date := resp.Header.Get("Date")
	if date == "" { // mostly, and an error is dear
		return time.Time{}
	}
	at, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}
	}
	return at
}

// kindOf decides how to read a response by its media type and, where that says
// little, by its look. It reports false for what is not text at all.
func kindOf(resp freshet.Response) (reading.Kind, bool) {
	media, _, _ := strings.Cut(strings.ToLower(resp.MediaType), ";")
	media = strings.TrimSpace(media)
	top, sub, _ := strings.Cut(media, "/")
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		if looksLikeFeed(resp.Body) { // a common slip of feed servers
			return reading.Feed, true
		}
		return reading.HTML, true
	case sub == "rss+xml" || sub == "atom+xml" || sub == "rdf+xml" || sub == "feed+json":
		return reading.Feed, true
	case sub == "json" || strings.HasSuffix(sub, "+json"):
		return jsonKind(resp.Body), true
	case sub == "xml" || strings.HasSuffix(sub, "+xml"):
		return xmlKind(resp.Body), true
	case (media == "text/calendar" || media == "text/plain") && looksLikeICal(resp.Body):
		return reading.ICal, true
	case media == "text/plain" && looksLikeFeed(resp.Body): // as servers of raw files send them
		return reading.Feed, true
	case media == "text/csv" || media == "text/tab-separated-values" || sub == "csv":
		return reading.CSV, true
	case (media == "text/plain" || sub == "vnd.ms-excel") && endingOf(resp) == "csv" && looksLikeCSV(resp.Body): // likewise, and as spreadsheets are sent
		return reading.CSV, true
	case media == "application/pdf" && isPDF(resp.Body):
		return reading.PDF, true
	case sub == "vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return reading.XLSX, true
	case sub == "vnd.openxmlformats-officedocument.wordprocessingml.document":
		return reading.DOCX, true
	case top == "text" || textual[sub]:
		return reading.Text, true
	case media == "" || media == "unknown/unknown" || sub == "octet-stream" || sub == "zip" || sub == "force-download" || sub == "x-download":
		return kindByLook(resp.Body)
	}
	return "", false
}

// textual names the application types that are plain text under another name.
var textual = map[string]bool{
	"javascript": true, "x-javascript": true, "ecmascript": true, "yaml": true, "x-yaml": true, "toml": true,
	"x-ndjson": true, "jsonl": true, "json-seq": true, "sql": true, "graphql": true, "x-sh": true,
	"x-www-form-urlencoded": true, "x-tex": true, "rtf": true,
}

func jsonKind(body []byte) reading.Kind {
	head := body[:min(len(body), 1024)]
	if bytes.Contains(head, []byte("jsonfeed.org/version/")) || bytes.Contains(head, []byte(`jsonfeed.org\/version\/`)) {
		return reading.Feed
	}
	return reading.JSON
}

func xmlKind(body []byte) reading.Kind {
	if looksLikeFeed(body) {
		return reading.Feed
	}
	return reading.Text
}

func kindByLook(body []byte) (reading.Kind, bool) {
	switch looks, _, _ := strings.Cut(http.DetectContentType(body), ";"); {
	case looks == "application/pdf":
		return reading.PDF, true
	case looks == "text/html":
		return reading.HTML, true
	case looks == "text/xml":
		return xmlKind(body), true
	case looks == "application/zip":
		kind := officeKind(body)
		return kind, kind != ""
	case !strings.HasPrefix(looks, "text/"):
		return "", false
	}
	switch start := bytes.TrimLeft(body, "\ufeff \t\r\n"); {
	case looksLikeFeed(start):
		return reading.Feed, true
	case looksLikeICal(start):
		return reading.ICal, true
	case bytes.HasPrefix(start, []byte("{")) || bytes.HasPrefix(start, []byte("[")) || len(withoutGuard(start)) < len(start):
		if len(body) <= maxTree && validJSON(body) {
			return jsonKind(body), true
		}
	case looksLikeCSV(start):
		return reading.CSV, true
	}
	return reading.Text, true
}

// endingOf returns the ending of the name that a response gives its file, or else of its URL, in lower case.
func endingOf(resp freshet.Response) string {
	name := ""
	if d := resp.Header.Get("Content-Disposition"); d != "" {
		_, params, _ := mime.ParseMediaType(d)
		name = params["filename"]
	}
	if name == "" {
		name, _, _ = strings.Cut(resp.URL, "?")
	}
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}

// checksum matches what describe returns.
var checksum = lazyregexp.New(`\A[^\n]{1,120}, \d+ bytes\nsha256 [0-9a-f]{64}\n?\z`)

// IsChecksum reports whether a text stands for a response that could not be read as text.
func IsChecksum(text []byte) bool { return len(text) <= maxChecksum && checksum.Match(text) }

// maxChecksum bounds what describe returns.
const maxChecksum = 256

// describe reads what is not text (an image, an archive, a document): it is
// never opened, but a new one is still a change.
func describe(body []byte, mediaType string) []byte {
	media, _, _ := strings.Cut(mediaType, ";")
	if media = oneLine(media, 100); media == "" {
		media = "binary data"
	}
	return fmt.Appendf(nil, "%s, %d bytes\nsha256 %x\n", media, len(body), sha256.Sum256(body))
}
