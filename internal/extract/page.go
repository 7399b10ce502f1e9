package extract

import (
	"bytes"
	"html"
	"slices"
	"strings"
)

// pageText returns the text and the title of an HTML page in one pass and
// without a tree, in time proportional to its size. Text that only a style
// sheet hides is read all the same.
func pageText(src []byte) (text []byte, name string) {
	p := page{scanner: scanner{src: src}}
	p.layout.out = make([]byte, 0, len(src)/4)
	for {
		switch p.next() {
		case endOfPage:
			return p.layout.bytes(), p.title
		case textToken:
			p.reserve(len(p.scanner.text()))
			p.layout.text(p.unescape(p.scanner.text()))
		case startTag:
			p.start()
		case endTag:
			p.layout.end(elementOf(p.name()))
		}
	}
}

// A page is a page being read.
type page struct {
	scanner
	layout
	title   string
	scratch []byte
}

// reserve makes room for a text of some bytes. If there is none it makes as much as the
// rest of the page will need if that has as much text in it as the page so far: how much
// that is differs widely, and to grow little by little takes twice the memory.
func (p *page) reserve(n int) {
	set := len(p.layout.out)
	if cap(p.layout.out)-set > n {
		return
	}
	whole := int(1.1 * float64(set+n) / float64(p.pos) * float64(len(p.src)))
	p.layout.out = slices.Grow(p.layout.out, min(max(whole-set, n), n+len(p.src)-p.pos)+n/8+64)
}

// start reads a start tag, and with it an element that has no markup in it.
func (p *page) start() {
	e := elementOf(p.name())
	switch e.role {
	case image:
		if alt, ok := attribute(p.attrs(), "alt"); ok {
			p.space = true
			p.layout.text(p.unescape(alt))
			p.space = true
		}
	case title:
		if name := p.raw(e.name); p.title == "" {
			p.title = titleText(p.unescape(name))
		}
	case textArea:
		p.space = true
		p.layout.text(p.unescape(p.raw(e.name)))
		p.space = true
	case verbatim:
		p.layout.start(element{role: pre})
		if e.name == "plaintext" { // has no end
			p.layout.text(p.src[p.pos:])
			p.pos = len(p.src)
		} else {
			p.layout.text(p.raw(e.name))
		}
		p.layout.end(element{role: pre})
	case dropped:
		p.raw(e.name)
	case template:
		p.passTemplate()
	case foreign:
		if !p.tok.closed {
			p.passForeign(e.name)
		}
	default:
		p.layout.start(e)
	}
}

// passTemplate passes over the rest of a template, and over those within it.
func (p *page) passTemplate() {
	for depth := 1; depth > 0; {
		switch p.next() {
		case endOfPage:
			return
		case startTag:
			switch e := elementOf(p.name()); e.role {
			case template:
				depth++
			case title, textArea, verbatim, dropped:
				p.raw(e.name)
			}
		case endTag:
			if elementOf(p.name()).role == template {
				depth--
			}
		}
	}
}

// passForeign passes over the rest of an SVG or MathML element. A tag that can
// only be HTML ends it early, so a drawing that was never closed does not
// swallow the page.
func (p *page) passForeign(name string) {
	within := 0 // elements that may hold HTML
	for depth := 1; depth > 0; {
		if bytes.HasPrefix(p.src[p.pos:], []byte("<![CDATA[")) {
			p.passUntil(p.pos, "]]>")
			continue
		}
		switch p.next() {
		case endOfPage:
			return
		case startTag:
			e := elementOf(p.name())
			switch {
			case e.name == "script" || e.name == "style":
				if !p.tok.closed {
					p.raw(e.name)
				}
			case p.tok.closed:
			case e.name == name:
				depth++
			case holdsHTML(p.name()):
				within++
			case within == 0 && breaksOut(e, p.name()):
				p.pos = p.tok.at
				return
			}
		case endTag:
			switch {
			case elementOf(p.name()).name == name:
				depth--
			case holdsHTML(p.name()):
				within = max(within-1, 0)
			}
		}
	}
}

// holdsHTML reports whether an element of SVG or MathML may hold HTML.
func holdsHTML(name []byte) bool {
	switch strings.ToLower(string(name)) {
	case "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext":
		return true
	}
	return false
}

// breaksOut reports whether a tag cannot stand in SVG or MathML.
func breaksOut(e element, name []byte) bool {
	switch e.role {
	case block, lineEnd, heading, list, item, table, pre, image:
		return true
	}
	switch strings.ToLower(string(name)) {
	case "b", "big", "code", "em", "embed", "i", "meta", "nobr", "ruby", "s", "small", "span", "strong",
		"strike", "sub", "sup", "tt", "u", "var":
		return true
	}
	return false
}

// unescape returns b with its entities decoded. What it returns is good until
// it is called again.
func (p *page) unescape(b []byte) []byte {
	amp := bytes.IndexByte(b, '&')
	if amp < 0 {
		return b
	}
	p.scratch = appendUnescaped(p.scratch[:0], b)
	return p.scratch
}

// longestEntity is the length of "&CounterClockwiseContourIntegral;".
const longestEntity = 33

func appendUnescaped(dst, b []byte) []byte {
	for {
		amp := bytes.IndexByte(b, '&')
		if amp < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:amp]...)
		b = b[amp:]
		end := 1
		for end < len(b) && (end < longestEntity || b[1] == '#') && isEntity[b[end]] {
			end++
		}
		if end < len(b) && b[end] == ';' {
			end++
		}
		dst = appendEntity(dst, b[:end])
		b = b[end:]
	}
}

// appendEntity decodes what starts with "&" and may be an entity. Those that
// make up most of the Web's are decoded without a detour.
func appendEntity(dst, entity []byte) []byte {
	switch string(entity) {
	case "&", "&amp;":
		return append(dst, '&')
	case "&nbsp;", "&#160;":
		return append(dst, "\u00a0"...)
	case "&lt;":
		return append(dst, '<')
	case "&gt;":
		return append(dst, '>')
	case "&quot;", "&#34;":
		return append(dst, '"')
	case "&#39;", "&#x27;":
		return append(dst, '\'')
	case "&mdash;", "&#8212;":
		return append(dst, "—"...)
	case "&ndash;", "&#8211;":
		return append(dst, "–"...)
	case "&rsquo;", "&#8217;":
		return append(dst, "’"...)
	case "&middot;":
		return append(dst, "·"...)
	case "&hellip;":
		return append(dst, "…"...)
	}
	return append(dst, html.UnescapeString(string(entity))...)
}

// isEntity has the bytes that an entity is made of.
var isEntity = func() (t [256]bool) {
	for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#" {
		t[c] = true
	}
	return t
}()

// titleText returns a title in one line of bounded length.
func titleText(b []byte) string { return oneLine(string(b[:min(len(b), 4*maxTitle)]), maxTitle) }
