package extract

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// A navigator moves over a tree for package xpath. The tree is all that it
// reaches: no function of ours or of the package opens a file or a connection.
type navigator struct {
	root, at *html.Node
	attr     int // of at, or -1
}

func newNavigator(n *html.Node) *navigator { return &navigator{root: n, at: n, attr: -1} }

// NodeType implements xpath.NodeNavigator.
func (n *navigator) NodeType() xpath.NodeType {
	switch {
	case n.attr >= 0:
		return xpath.AttributeNode
	case n.at.Type == html.ElementNode:
		return xpath.ElementNode
	case n.at.Type == html.TextNode:
		return xpath.TextNode
	case n.at.Type == html.CommentNode:
		return xpath.CommentNode
	}
	return xpath.RootNode
}

func (n *navigator) name() string {
	if n.attr >= 0 {
		return n.at.Attr[n.attr].Key
	}
	return n.at.Data
}

// LocalName implements xpath.NodeNavigator.
func (n *navigator) LocalName() string {
	name := n.name()
	if n.at.Namespace == xmlSpace {
		return name[strings.IndexByte(name, ':')+1:]
	}
	return name
}

// Prefix implements xpath.NodeNavigator.
func (n *navigator) Prefix() string {
	if prefix, _, ok := strings.Cut(n.name(), ":"); ok && n.at.Namespace == xmlSpace {
		return prefix
	}
	return ""
}

// Value implements xpath.NodeNavigator.
func (n *navigator) Value() string {
	if n.attr >= 0 {
		return n.at.Attr[n.attr].Val
	}
	return innerText(n.at)
}

func innerText(n *html.Node) string {
	switch n.Type {
	case html.TextNode, html.CommentNode:
		return n.Data
	}
	if c := n.FirstChild; c != nil && c == n.LastChild && c.Type == html.TextNode {
		return c.Data
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// Copy implements xpath.NodeNavigator.
func (n *navigator) Copy() xpath.NodeNavigator { c := *n; return &c }

// MoveToRoot implements xpath.NodeNavigator.
func (n *navigator) MoveToRoot() { n.at, n.attr = n.root, -1 }

func (n *navigator) moveTo(to *html.Node) bool {
	if to == nil || n.attr >= 0 {
		return false
	}
	n.at = to
	return true
}

// MoveToParent implements xpath.NodeNavigator.
func (n *navigator) MoveToParent() bool {
	if n.attr >= 0 {
		n.attr = -1
		return true
	}
	return n.moveTo(n.at.Parent)
}

// MoveToNextAttribute implements xpath.NodeNavigator.
func (n *navigator) MoveToNextAttribute() bool {
	if n.attr >= len(n.at.Attr)-1 {
		return false
	}
	n.attr++
	return true
}

// MoveToChild implements xpath.NodeNavigator.
func (n *navigator) MoveToChild() bool { return n.moveTo(n.at.FirstChild) }

// MoveToFirst implements xpath.NodeNavigator.
func (n *navigator) MoveToFirst() bool {
	if n.attr >= 0 || n.at.PrevSibling == nil {
		return false
	}
	for n.at.PrevSibling != nil {
		n.at = n.at.PrevSibling
	}
	return true
}

// MoveToNext implements xpath.NodeNavigator.
func (n *navigator) MoveToNext() bool { return n.moveTo(n.at.NextSibling) }

// MoveToPrevious implements xpath.NodeNavigator.
func (n *navigator) MoveToPrevious() bool { return n.moveTo(n.at.PrevSibling) }

// MoveTo implements xpath.NodeNavigator.
func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.at, n.attr = o.at, o.attr
	return true
}

// xmlSpace marks the nodes of an XML document in a tree of HTML nodes.
const xmlSpace = "xml"

// parseXML returns an XML document as a tree. Names are as written, with their
// prefixes. Entities that the document defines are not expanded.
func parseXML(src []byte) (*html.Node, error) {
	if len(src) > maxTree {
		return nil, fail(FailLimit, asText, "the XML document has %d bytes; a selector works on at most %d MiB", len(src), maxTree>>20)
	}
	d := xml.NewDecoder(bytes.NewReader(src))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	root := &html.Node{Type: html.DocumentNode, Namespace: xmlSpace}
	at, depth, count := root, 0, 0
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fail(FailParse, "Check that the URL returns XML.", "not an XML document: %w", err)
		}
		if count++; count > maxNodes {
			return nil, fail(FailLimit, asText, "the XML document has more than %d parts", maxNodes)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxXMLDepth {
				return nil, fail(FailLimit, asText, "the XML document nests deeper than %d elements", maxXMLDepth)
			}
			n := &html.Node{Type: html.ElementNode, Data: qualified(t.Name), Namespace: xmlSpace}
			for _, a := range t.Attr[:min(len(t.Attr), maxAttrs)] {
				n.Attr = append(n.Attr, html.Attribute{Key: qualified(a.Name), Val: a.Value})
			}
			at.AppendChild(n)
			at = n
		case xml.EndElement:
			for up := at; up.Parent != nil; up = up.Parent { // of a document that is not well nested, the nearest
				if up.Data == qualified(t.Name) {
					for ; at != up.Parent; depth-- {
						at = at.Parent
					}
					break
				}
			}
		case xml.CharData:
			at.AppendChild(&html.Node{Type: html.TextNode, Data: string(t), Namespace: xmlSpace})
		}
	}
	if root.FirstChild == nil {
		return nil, fail(FailParse, "Check that the URL returns XML.", "not an XML document: there is no element in it")
	}
	return root, nil
}

func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}
