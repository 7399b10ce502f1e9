package extract

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
)

// A document is a response, or what a step decoded. What it is parsed into is
// kept, because several values may be taken from it.
type document struct {
	body  []byte
	media string
	kind  reading.Kind // "" if it is not text at all
	date  time.Time    // at which it was sent, if known

	text   []byte // decoded
	tree   *html.Node
	json   []any
	parsed *jsonDoc
	seen   *glance // what read returned
}

// newDocument returns a document of a kind, or of the kind that it looks like.
func newDocument(kind reading.Kind, resp freshet.Response) *document {
	resp.Body = unpacked(resp.Body)
	doc := &document{body: resp.Body, media: resp.MediaType, date: dateOf(resp)}
	if doc.text = widened(resp.Body); doc.text != nil {
		resp.Body = doc.text
	}
	if kind == reading.Auto {
		kind, _ = kindOf(resp)
	}
	doc.kind = kind
	return doc
}

// unpacked returns a body that was packed beyond what the server said, as feeds
// and sitemaps in .gz files are.
func unpacked(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		return body
	}
	if out, err := unpack(body); err == nil {
		return out
	}
	return body
}

// decoded returns the document as valid UTF-8.
func (d *document) decoded() ([]byte, error) {
	if d.text == nil {
		text, err := decode(d.kind, d.media, d.body)
		if err != nil {
			return nil, err
		}
		d.text = text
	}
	return d.text, nil
}

// root returns the document as a tree.
func (d *document) root() (*html.Node, error) {
	if d.tree != nil {
		return d.tree, nil
	}
	src, err := d.decoded()
	if err != nil {
		return nil, err
	}
	switch {
	case d.kind == reading.JSON:
		return nil, fail(FailParse, "Use jq or jsonpath for JSON.", "this step needs a page, but the response is JSON")
	case d.kind == reading.PDF || isOffice(d.kind) || d.kind == "":
		return nil, fail(FailParse, "Read it with the step pdf, xlsx, text or decode first.", "this step needs a page, but the response is not one")
	case d.isXML(src):
		d.tree, err = parseXML(src)
	default:
		d.tree, err = parsePage(src)
	}
	return d.tree, err
}

// isXML reports whether names are to be taken as XML has them.
func (d *document) isXML(src []byte) bool {
	switch d.kind {
	case reading.HTML:
		return false
	case reading.XML:
		return true
	}
	start := bytes.TrimLeft(src, " \t\r\n")
	return bytes.HasPrefix(start, []byte("<")) && (d.kind == reading.Feed || bytes.HasPrefix(start, []byte("<?xml")) || strings.Contains(d.media, "xml"))
}

// values returns the document as JSON.
func (d *document) values() ([]any, error) {
	if d.json != nil {
		return d.json, nil
	}
	src, err := d.decoded()
	if err != nil {
		return nil, err
	}
	switch d.kind {
	case reading.CSV, reading.ICal, reading.XLSX:
		return d.itemValues()
	case reading.Feed:
		if d.isXML(src) {
			return d.itemValues()
		}
	}
	if d.json, err = parseValues(src); err != nil && d.kind == reading.Text {
		d.json, err = yamlOr(err, src, strings.Contains(d.media, "yaml"))
	}
	return d.json, err
}

// parsedJSON returns the document as one document of JSON.
func (d *document) parsedJSON() (*jsonDoc, error) {
	if d.parsed != nil {
		return d.parsed, nil
	}
	src, err := d.decoded()
	if err == nil {
		d.parsed, err = parseJSON(src)
	}
	return d.parsed, err
}

// itemValues returns the items of the document as a list in JSON.
func (d *document) itemValues() ([]any, error) {
	g, err := d.read()
	if err == nil {
		d.json, err = jsonOfItems(g.items)
	}
	return d.json, err
}

// parsePage returns the tree of a page.
func parsePage(src []byte) (*html.Node, error) {
	if err := checkTree(src); err != nil {
		return nil, err
	}
	root, err := html.Parse(bytes.NewReader(src))
	if err != nil { // elements nest too deep for the parser
		root, err = html.Parse(bytes.NewReader(shallow(src)))
	}
	if err != nil {
		return nil, fail(FailLimit, "Leave the selector out: without one, nesting does not matter.",
			"the page cannot be parsed for a selector: %w", err)
	}
	return root, nil
}

// titleOf returns the title of a page.
func titleOf(root *html.Node) string {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.FirstChild != nil {
			return titleText([]byte(n.FirstChild.Data))
		}
	}
	return ""
}

// A glance is what a document says without any step.
type glance struct {
	text      []byte
	title     string
	modified  time.Time
	dates     []time.Time // of items, the newest first
	freshFor  time.Duration
	announced evidence.Announcement
	items     []freshet.Item
}

// read returns what the document says as a whole.
func (d *document) read() (glance, error) {
	if d.seen == nil {
		g, err := d.readOnce()
		if err != nil {
			return g, err
		}
		d.seen = &g
	}
	return *d.seen, nil
}

func (d *document) readOnce() (g glance, err error) {
	switch d.kind {
	case "":
		return glance{text: describe(d.body, d.media)}, nil
	case reading.PDF:
		g.text, g.title, err = pdfText(d.body)
		return g, err
	case reading.XLSX:
		rows, err := readXLSX(d.body, 0, "")
		if err != nil {
			return g, err
		}
		g.items, g.text = rows.items(), rows.text()
		return g, nil
	case reading.DOCX:
		g.text, g.title, err = readDOCX(d.body)
		return g, err
	}
	src, err := d.decoded()
	if err != nil {
		return g, err
	}
	switch d.kind {
	case reading.HTML:
		g.text, g.title = pageText(src)
	case reading.JSON:
		var doc *jsonDoc
		if doc, err = d.parsedJSON(); err == nil {
			g.text, err = doc.canonical()
		}
	case reading.Feed:
		return readFeed(src, d.date)
	case reading.ICal:
		return readCalendar(src)
	case reading.CSV:
		g.text = plainText(src)
		if rows, err := readCSV(src, 0); err == nil {
			g.items = rows.items()
		}
	default:
		g.text = plainText(src)
		g.modified = newestOnSitemap(src, d.date)
	}
	return g, err
}
