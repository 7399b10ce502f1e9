package sites

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"golang.org/x/net/html"
)

// LinksByTokenizer is Links by the tokenizer of x/net.
func LinksByTokenizer(body []byte, url string, asked Asked) Page {
	s := scan{asked: asked, seen: map[string]int{}}
	z := html.NewTokenizer(bytes.NewReader(body))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw, _ := z.TagName()
		name := string(raw)
		switch {
		case kind == html.EndTagToken:
			if s.templates > 0 && name == "template" {
				s.templates--
			}
		case kind != html.StartTagToken && kind != html.SelfClosingTagToken:
		case name == "noscript", name == "noframes":
			z.NextIsNotRawText()
		case slices.Contains(linking[:], name):
			s.element(name, tokenAttributes(z))
		}
	}
	for _, value := range asked.RobotsTag {
		s.directives.header(value, asked.Agent)
	}
	return s.page(url)
}

// BothWays normalises a link by the quick way, if it is open, and by the parser.
func BothWays(from, href string) (quick, exact string) {
	b, err := newBase(from)
	if err != nil {
		return "", ""
	}
	quick, ok := b.quick(href)
	if !ok {
		return "", ""
	}
	exact, err = b.exact(href)
	if err != nil {
		exact = err.Error()
	}
	return quick, exact
}

// FromBase returns a function that normalises links of one page.
func FromBase(from string) func(href string) (string, error) {
	b, err := newBase(from)
	if err != nil {
		return func(string) (string, error) { return "", err }
	}
	return b.normalise
}

// WithSum adds the sum that data of traps ends with.
func WithSum(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body[:len(body):len(body)], crc32.ChecksumIEEE(body))
}
