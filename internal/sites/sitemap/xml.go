package sitemap

import (
	"bytes"
	"fmt"
)

const (
	maxDepth      = 256
	maxAlternates = 500
	maxProlog     = 256 << 10 // bytes in which the root element stands
)

// An opened element is one whose end has not come yet.
type opened struct {
	element
	name uint32 // a hash of it
}

// An xmlReader reads a list in XML: sitemaps, indexes, RSS, RDF and Atom.
//
// It goes by names and by what stands in what, not by namespaces: many sitemaps have
// wrong ones. A loc counts directly within a url, so that the loc of an image does
// not.
type xmlReader struct {
	*document
	scanner
	names
	open  []opened
	first string // element of all

	entry  draft
	within int     // how many elements are open outside the entry; -1 if there is none
	field  element // whose text is being read; other if there is none
	value  []byte  // that text
}

// looksLikeXML reports whether markup of a list stands behind something else, such
// as the warnings of a script.
func looksLikeXML(head []byte) bool {
	for _, mark := range []string{"<urlset", "<sitemapindex", "<?xml"} {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

func (d *document) readXML(w *window) error {
	x := &xmlReader{document: d, scanner: scanner{window: w}, within: -1}
	for {
		t, err := x.next()
		switch {
		case err != nil:
			return fmt.Errorf("%w (line %d)", err, w.at())
		case t == startTag:
			err = x.start()
		case t == endTag:
			err = x.closeTag()
		case t == text && x.field != other && len(x.value) <= maxURL:
			x.value = append(x.value, x.text...)
		case t == end:
			return x.finish()
		}
		if err != nil {
			return err
		}
		if d.Kind == "" && d.in.out.n > maxProlog {
			return x.refuse()
		}
	}
}

// finish looks at what is open at the end of the document.
func (x *xmlReader) finish() error {
	if x.broken > 0 {
		x.note(faultMarkup, 0, "%d tags cannot be read", x.broken)
	}
	switch {
	case !fine(x.err):
		return nil // the reason for the end says it all
	case x.Kind == "":
		return x.refuse()
	case len(x.open) > 0:
		x.Complete = false
		x.note(faultCut, x.at(), "it breaks off: the end of the document is missing")
	}
	return nil
}

// refuse returns an error that says what the document is instead of a list.
func (x *xmlReader) refuse() error {
	if x.first == "" {
		return fmt.Errorf("%w: it has no elements", ErrNotSitemap)
	}
	return fmt.Errorf("%w: it begins with <%s>, and not as a sitemap or a feed does", ErrNotSitemap, x.first)
}

// start takes a start tag.
func (x *xmlReader) start() error {
	if x.first == "" {
		x.first = string(x.name[:min(len(x.name), 40)])
	}
	if bytes.Contains(x.attrs, []byte("xmlns:")) {
		x.eachAttr(x.declare)
	}
	e := x.element(x.name)
	if len(x.open) == 0 || x.Kind == "" {
		if err := x.begin(e); err != nil {
			return err
		}
	}
	switch {
	case e.isEntry(x.Kind):
		if err := x.startEntry(e); err != nil {
			return err
		}
	case x.within >= 0 && x.counts(e):
		x.startField(e)
	}
	if x.closed {
		return x.closeSelf(e)
	}
	if len(x.open) == maxDepth {
		x.note(faultMarkup, x.at(), "elements are nested more than %d deep", maxDepth)
		return errEnough
	}
	x.open = append(x.open, opened{e, hashName(x.name)})
	return nil
}

// begin takes the root element, or what stands in its place.
func (x *xmlReader) begin(e element) error {
	kind := e.kindOfRoot()
	if kind == "" && len(x.open) == 0 && x.Kind != "" {
		return nil // something behind the end of the list
	}
	if kind == "" {
		if e == html {
			return fmt.Errorf("%w: it is an HTML page", ErrNotSitemap)
		}
		x.open = x.open[:0] // what came before has nothing to do with the list
		return nil
	}
	x.open = x.open[:0]
	if x.Kind == "" {
		x.Kind = kind
		x.rootPrefix = string(prefixOf(x.name))
		x.checkRoot(e)
	}
	return nil
}

// checkRoot reports what is wrong with the root element.
func (x *xmlReader) checkRoot(e element) {
	switch e {
	case page, nested:
		x.note(faultRoot, x.at(), "there is no <urlset> or <sitemapindex> around its entries")
	case urlset, sitemapindex:
		own := ""
		x.eachAttr(func(name, value []byte) {
			if string(name) == "xmlns" && x.rootPrefix == "" || string(name) == "xmlns:"+x.rootPrefix {
				own = string(trim(value))
			}
		})
		if own != namespace {
			x.note(faultSpace, x.at(), "its namespace is %s and not %s", quoted([]byte(own)), namespace)
		}
	}
	if x.typed {
		x.note(faultDoctype, 0, "it has a document type, which is not read")
	}
}

// counts reports whether an element says something of the entry that it stands in.
func (x *xmlReader) counts(e element) bool {
	switch e {
	case other:
		return false
	case newsDate, alternate:
		return true
	case loc, lastmod, changefreq, priority:
		if x.field != other { // which was never closed: what belongs to it is text
			x.open = x.open[:x.within+1]
		}
	}
	return len(x.open) == x.within+1
}

func (x *xmlReader) startEntry(e element) error {
	line := x.at()
	if x.within >= 0 {
		x.note(faultUnclosed, x.entry.line, "an entry is not closed")
		if err := x.endEntry(); err != nil {
			return err
		}
	}
	x.entry = draft{line: line, kind: e, url: x.entry.url[:0], id: x.entry.id[:0], priority: 0.5}
	x.within = len(x.open)
	x.field = other
	if e == item {
		x.eachAttr(func(name, value []byte) {
			if string(name) == "rdf:about" {
				x.entry.id = append(x.entry.id, value...)
			}
		})
	}
	return nil
}

func (x *xmlReader) startField(e element) {
	if x.field != other {
		x.note(faultUnclosed, x.at(), "a <%s> is not closed", x.field)
		x.endField()
	}
	switch e {
	case link:
		if x.Kind == URLSet || x.Kind == Index {
			x.addAlternate()
			return
		}
		x.feedLink()
	case alternate:
		x.addAlternate()
		return
	case guid:
		x.eachAttr(func(name, value []byte) {
			if string(name) == "isPermaLink" && string(value) == "false" {
				x.entry.notLink = true
			}
		})
	}
	x.field = e
	x.value = x.value[:0]
}

// feedLink takes a link whose URL is an attribute, as in Atom.
func (x *xmlReader) feedLink() {
	var rel, href []byte
	x.eachAttr(func(name, value []byte) {
		switch string(name) {
		case "rel":
			rel = value
		case "href":
			href = value
		}
	})
	if len(href) > 0 && len(x.entry.url) == 0 && (len(rel) == 0 || string(rel) == "alternate") {
		x.entry.url = append(x.entry.url, href...)
	}
}

// addAlternate takes a link to the page in another language.
func (x *xmlReader) addAlternate() {
	var rel, lang, href []byte
	x.eachAttr(func(name, value []byte) {
		switch string(name) {
		case "rel":
			rel = value
		case "hreflang":
			lang = value
		case "href":
			href = value
		}
	})
	if len(href) == 0 || len(lang) == 0 || len(rel) > 0 && string(rel) != "alternate" {
		return
	}
	if len(x.entry.alternates) == maxAlternates {
		x.note(faultAlternates, x.entry.line, "an entry has more than %d other languages; the rest is left out", maxAlternates)
		return
	}
	if url, ok := x.resolve(href, x.entry.line); ok {
		x.entry.alternates = append(x.entry.alternates, Alternate{string(lang[:min(len(lang), 40)]), url})
	}
}

// closeSelf ends an element that has no end tag of its own.
func (x *xmlReader) closeSelf(e element) error {
	switch {
	case e.isEntry(x.Kind):
		return x.endEntry()
	case e == x.field:
		x.endField()
	case len(x.open) == 0 && e.kindOfRoot() != "":
		x.Complete = true
	}
	return nil
}

// closeTag takes an end tag. Elements that were left open within the one that it
// ends end too; one that was never opened is passed over.
func (x *xmlReader) closeTag() error {
	name := hashName(x.name)
	at := len(x.open) - 1
	for at >= 0 && x.open[at].name != name {
		at--
	}
	if at < 0 {
		x.broken++
		return nil
	}
	if at < len(x.open)-1 {
		x.note(faultUnclosed, x.at(), "</%s> comes before the end of what stands in it", quoted(x.name[:min(len(x.name), 40)]))
	}
	if x.field != other && (at == x.within+1 || at <= x.within || x.open[at].element == x.field) {
		x.endField()
	}
	x.open = x.open[:at]
	if x.within >= 0 && at <= x.within {
		if err := x.endEntry(); err != nil {
			return err
		}
	}
	if at == 0 && x.Kind != "" {
		x.Complete = true
	}
	return nil
}
