package extract

import (
	"strings"

	"golang.org/x/net/html"
)

const (
	maxNodes = 200_000 // tags of a page to select from
	maxAttrs = 1_000   // attributes of one tag of it
)

// nodesText returns the text of elements, one after the other. Elements that were
// chosen by name show even if a page would hide them.
func nodesText(nodes []*html.Node, chosen bool) []byte {
	var l layout
	for _, n := range nodes {
		l.breakLine()
		switch {
		case n.Namespace == xmlSpace:
			l.xml(n)
		case chosen && n.Type == html.ElementNode:
			l.selected(n)
		default:
			l.node(n)
		}
	}
	return l.bytes()
}

// xml sets the texts in an element of an XML document, one a line.
func (l *layout) xml(n *html.Node) {
	if n.Type == html.TextNode {
		l.breakLine()
		l.text([]byte(n.Data))
		l.breakLine()
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		l.xml(c)
	}
}

// checkTree counts what a tree of the page would hold, before one is built.
func checkTree(src []byte) error {
	const hint = "Leave the selector out to watch the whole page."
	if len(src) > maxPage {
		return fail(FailLimit, hint, "the page has %d bytes; a selector works on at most %d MiB", len(src), maxPage>>20)
	}
	s := scanner{src: src}
	for tags := 0; ; {
		kind := s.next()
		if kind == endOfPage {
			return nil
		}
		if kind != startTag {
			continue
		}
		if tags++; tags > maxNodes {
			return fail(FailLimit, hint, "the page has more than %d elements to select from", maxNodes)
		}
		n := 0
		for a := (attributes{src: s.attrs()}); a.next(); {
			if n++; n > maxAttrs {
				return fail(FailLimit, hint, "an element of the page has more than %d attributes", maxAttrs)
			}
		}
	}
}

// within reports whether n is a descendant of ancestor.
func within(n, ancestor *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p == ancestor {
			return true
		}
	}
	return false
}

// selected sets an element that was asked for by name, even if it would not
// show in the text of the page.
func (l *layout) selected(n *html.Node) {
	switch n.Data {
	case "meta":
		l.text([]byte(attributeOf(n, "content")))
		return
	case "input":
		l.text([]byte(attributeOf(n, "value")))
		return
	}
	switch elementOf([]byte(n.Data)).role {
	case title, dropped, template, foreign:
		l.start(element{role: pre})
		for c := range n.Descendants() {
			if c.Type == html.TextNode {
				l.text([]byte(c.Data))
			}
		}
		l.end(element{role: pre})
	default:
		l.node(n)
	}
}

// node sets a node of the tree as the page would show it.
func (l *layout) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		l.text([]byte(n.Data))
		return
	case html.DocumentNode:
		for c := range n.ChildNodes() {
			l.node(c)
		}
		return
	case html.ElementNode:
	default:
		return
	}
	e := elementOf([]byte(n.Data))
	switch e.role {
	case title, dropped, template, foreign:
		return
	case image:
		l.space = true
		l.text([]byte(attributeOf(n, "alt")))
		l.space = true
		return
	case textArea:
		e.role = spaced
	case verbatim:
		e.role = pre
	}
	l.start(e)
	for c := range n.ChildNodes() {
		l.node(c)
	}
	l.end(e)
}

func attributeOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && strings.EqualFold(a.Key, key) {
			return a.Val
		}
	}
	return ""
}
