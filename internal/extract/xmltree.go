package extract

import (
	"bytes"
	"encoding/xml"
	"io"

	"golang.org/x/net/html"
)

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
