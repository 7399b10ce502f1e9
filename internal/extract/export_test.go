package extract

import (
	"fmt"
	"regexp"
	"strings"

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
func ItemsOfJSON(src []byte) (found Items, decoded []freshet.Item, err error) {
	doc, err := parseJSON(src)
	if err != nil {
		return Items{}, nil, err
	}
	values, err := parseValues(src)
	return doc.itemsOf(0), itemsOf(value{form: jsonForm, json: values}).All(), err
}

// ReadRSS returns what the reader of RSS finds in a feed, if it understands it, and what gofeed finds.
func ReadRSS(src []byte) (found, want string, understood bool, err error) {
	lean, understood := readRSS(string(src))
	full, err := parseAnyFeed(src)
	return lean.dump(), full.dump(), understood, err
}

// dump returns all that a feed says.
func (f parsedFeed) dump() string {
	all := fmt.Sprintf("%q\n", f.title)
	for _, e := range f.entries {
		all += fmt.Sprintf("%q %q %q %q %q %q %q %q %v %v %v %v %q\n", e.title, e.link, e.guid, e.author, e.description, e.content,
			e.published, e.updated, e.publishedAt.UTC(), e.publishedAt.known, e.updatedAt.UTC(), e.updatedAt.known, e.categories)
	}
	return all
}

// BoundFeed returns the part of a feed that is handed to a parser.
func BoundFeed(src []byte) ([]byte, error) { return boundFeed(src) }

// PlainTitles returns a title as text, and what it is by the rules for all of them.
func PlainTitles(s string) (title, want string) {
	text, _ := pageText([]byte(s[:min(len(s), 16*maxTitle)]))
	return plainTitle(s), oneLine(strings.ToValidUTF8(string(text), ""), maxTitle)
}
