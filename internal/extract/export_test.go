package extract

import (
	"fmt"
	"regexp"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"freshet/internal/freshet"
)

// Navigator returns what moves over a tree for package xpath.
func Navigator(n *html.Node) xpath.NodeNavigator { return newNavigator(n) }

// Tokens returns the tokens of a page as the scanner sees them, with the text
// of raw elements as one token, for comparison with another tokenizer.
func Tokens(src []byte) (all []string) {
	s := scanner{src: src}
	for {
		switch s.next() {
		case endOfPage:
			return all
		case textToken:
			all = append(all, fmt.Sprintf("text %q", s.text()))
		case endTag:
			all = append(all, fmt.Sprintf("end %q", s.name()))
		case startTag:
			all = append(all, fmt.Sprintf("start %q %v", s.name(), s.tok.closed))
			for a := (attributes{src: s.attrs()}); a.next(); {
				all = append(all, fmt.Sprintf("attribute %q %q", a.key(), a.value()))
			}
			if e := elementOf(s.name()); e.name == "plaintext" {
				if s.rest(s.pos) == textToken {
					all = append(all, fmt.Sprintf("text %q", s.text()))
				}
			} else if e.name != "" && e.role != template && e.role != foreign {
				if raw := s.raw(e.name); len(raw) > 0 {
					all = append(all, fmt.Sprintf("text %q", raw))
				}
			}
		}
	}
}

// Replaced is the bounded form of regexp.ReplaceAll.
func Replaced(re *regexp.Regexp, text, with []byte) ([]byte, error) { return replaced(re, text, with) }

// ItemsOfJSON returns the items of a document as they are found in its source, and in the decoded document.
func ItemsOfJSON(src []byte) (found, decoded []freshet.Item, err error) {
	doc, err := parseJSON(src)
	if err != nil {
		return nil, nil, err
	}
	values, err := parseValues(src)
	return doc.itemsOf(0), itemsOf(value{form: jsonForm, json: values}), err
}
