package extract

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"freshet/internal/freshet"
)

const (
	maxItems     = 1_000   // of a feed; those behind them are not read
	maxFeed      = 8 << 20 // bytes of XML up to the last of them
	maxXMLDepth  = 256
	feedStart    = 1024             // bytes in which the root element of a feed stands
	oldestOnFeed = 1990             // a date before this year is a slip
	skew         = 10 * time.Minute // by which the clocks of a feed and its server may differ
	feedHint     = "Check that the URL returns a feed, or leave the kind out to have it detected."
)

// looksLikeFeed reports whether body starts as an RSS, RDF or Atom feed.
func looksLikeFeed(body []byte) bool {
	s := scanner{src: body[:min(len(body), feedStart)]}
	for {
		switch s.next() {
		case startTag:
			switch string(s.name()) {
			case "rss", "feed", "rdf:RDF", "rdf", "atom:feed":
				return true
			}
			return false
		case textToken:
			if len(bytes.Trim(s.text(), "\ufeff \t\r\n")) > 0 {
				return false
			}
		default:
			return false
		}
	}
}

// readFeed returns the items of a feed in its own order, each as a block of
// lines: title, link, date and text. What a feed says about itself does not
// show, because it often holds the time at which the feed was built.
func readFeed(src []byte, answered time.Time) (g glance, err error) {
	src, err = boundFeed(src)
	if err != nil {
		return g, err
	}
	feed, err := parseFeed(src)
	if err != nil && !isTruncated(err) {
		if items := looseItems(src); len(items) > 0 {
			feed, err = &gofeed.Feed{Items: items}, nil
		}
	}
	if err != nil {
		return g, fail(FailParse, feedHint, "read the feed: %w", err)
	}
	if moreItems(src, len(feed.Items)) {
		if items := looseItems(src); len(items) > len(feed.Items) {
			feed.Items = items
		}
	}
	g.title, g.freshFor, g.foretold = plainTitle(feed.Title), feedTTL(src), feedForetold(src)
	for _, item := range feed.Items[:min(len(feed.Items), maxItems)] {
		block := appendItem(nil, item)
		if len(g.text) > 0 && len(block) > 0 { // an entry may say nothing
			g.text = append(g.text, '\n')
		}
		g.text = append(g.text, block...)
		g.items = append(g.items, feedItem(item))
		for _, at := range []*time.Time{item.PublishedParsed, item.UpdatedParsed} {
			if dated(at, answered) && at.After(g.modified) {
				g.modified = at.UTC()
			}
		}
		if at := cmp.Or(item.PublishedParsed, item.UpdatedParsed); dated(at, answered) {
			g.dates = append(g.dates, at.UTC())
		}
	}
	g.dates = newestFirst(g.dates)
	g.items = keyed(g.items, nil)
	return g, nil
}

// mostItemDates is how many dates of items are told: more than are gone by, because some
// may lie in the future.
const mostItemDates = 4 * freshet.MostDates

// newestFirst returns the newest of some dates, each once. When an item came out counts,
// and not when it was touched: some feeds stamp all of them whenever they are built.
func newestFirst(dates []time.Time) []time.Time {
	slices.SortFunc(dates, func(a, b time.Time) int { return b.Compare(a) })
	dates = slices.CompactFunc(dates, time.Time.Equal)
	return slices.Clone(dates[:min(len(dates), mostItemDates)])
}

// feedItem returns an entry as an item, known by its guid or else by its link.
func feedItem(item *gofeed.Item) freshet.Item {
	text, _ := pageText([]byte(cmp.Or(item.Description, item.Content)))
	out := freshet.Item{
		Key:   oneLine(cmp.Or(item.GUID, item.Link), 500),
		Title: plainTitle(item.Title), Link: oneLine(linkOf(item), 2000), Date: dateLine(item),
		Text: oneLine(string(text), maxCell),
	}
	if len(item.Categories) > 0 {
		list := make([]string, min(len(item.Categories), 100))
		for i := range list {
			list[i] = oneLine(item.Categories[i], 200)
		}
		out.Fields = freshet.Fields{"categories": list}
	}
	if len(item.Authors) > 0 && item.Authors[0] != nil && item.Authors[0].Name != "" {
		if out.Fields == nil {
			out.Fields = freshet.Fields{}
		}
		out.Fields["author"] = oneLine(item.Authors[0].Name, 200)
	}
	return out
}

// dated reports whether at can be the time of an item in a feed that was sent
// at answered, which is zero if it is not known.
func dated(at *time.Time, answered time.Time) bool {
	return at != nil && at.Year() >= oldestOnFeed && (answered.IsZero() || !at.After(answered.Add(skew)))
}

// parseFeed hands a feed to the parser. A parser that panics over what somebody
// on the Web has written must not take the daemon down.
func parseFeed(src []byte) (feed *gofeed.Feed, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	return gofeed.NewParser().Parse(bytes.NewReader(src))
}

// isTruncated reports whether a feed breaks off, or is not well nested: what is
// there may be a part of it, which must not pass for the whole.
func isTruncated(err error) bool {
	return errors.As(err, new(*xml.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

func appendItem(dst []byte, item *gofeed.Item) []byte {
	for _, line := range []string{plainTitle(item.Title), oneLine(linkOf(item), 2000), dateLine(item)} {
		if line != "" {
			dst = append(append(dst, line...), '\n')
		}
	}
	text, _ := pageText([]byte(cmp.Or(item.Description, item.Content)))
	return append(dst, text...)
}

func linkOf(item *gofeed.Item) string {
	if item.Link == "" && strings.Contains(item.GUID, "://") {
		return item.GUID
	}
	return item.Link
}

// dateLine returns when an item was published or, failing that, updated: a
// touch that changes nothing else is not news.
func dateLine(item *gofeed.Item) string {
	switch {
	case item.PublishedParsed != nil:
		return item.PublishedParsed.UTC().Format(time.RFC3339)
	case item.Published != "":
		return oneLine(item.Published, 100)
	case item.UpdatedParsed != nil:
		return item.UpdatedParsed.UTC().Format(time.RFC3339)
	}
	return oneLine(item.Updated, 100)
}

// plainTitle returns a title that may hold markup as text.
func plainTitle(s string) string {
	text, _ := pageText([]byte(s[:min(len(s), 16*maxTitle)]))
	return oneLine(strings.ToValidUTF8(string(text), ""), maxTitle)
}

// boundFeed returns the part of a feed that may be handed to a parser: well
// nested to a bounded depth, of bounded size, with a bounded number of items,
// and without a declaration of the encoding that it no longer has.
func boundFeed(src []byte) ([]byte, error) {
	if start := bytes.TrimLeft(src, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		_, err := parseJSON(src)
		return src, err
	}
	s := xmlBounds{scanner: scanner{src: src}}
	if err := s.run(); err != nil {
		return nil, err
	}
	if s.end-s.start > maxFeed {
		return nil, fail(FailLimit, asText, "the feed has %d bytes; the most is %d MiB", s.end-s.start, maxFeed>>20)
	}
	src = src[s.start:s.end:s.end]
	for i := len(s.open) - 1; i >= 0; i-- {
		src = fmt.Appendf(src, "</%s>", s.open[i])
	}
	return src, nil
}

// xmlBounds walks over an XML document without building anything.
type xmlBounds struct {
	scanner
	start int      // behind the XML declaration
	end   int      // behind the last item that counts
	open  [][]byte // elements open there
	items int
}

func (x *xmlBounds) run() error {
	x.end = len(x.src)
	if start := bytes.TrimLeft(x.src, "\ufeff \t\r\n"); bytes.HasPrefix(start, []byte("<?xml")) {
		x.passUntil(len(x.src)-len(start), "?>")
		x.start = x.pos
	}
	for x.pos < len(x.src) {
		i := bytes.IndexByte(x.src[x.pos:], '<')
		if i < 0 {
			break
		}
		x.pos += i
		if x.passMarkup() {
			continue
		}
		if err := x.element(); err != nil {
			return err
		}
		if x.items == maxItems {
			x.end = x.pos
			return nil
		}
	}
	x.open = nil // the document ends as it ends
	return nil
}

// passMarkup passes over what is not an element, and reports whether it did.
func (x *xmlBounds) passMarkup() bool {
	rest := x.src[x.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		x.passUntil(x.pos+len("<!--"), "-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		x.passUntil(x.pos, "]]>")
	case bytes.HasPrefix(rest, []byte("<?")):
		x.passUntil(x.pos, "?>")
	case bytes.HasPrefix(rest, []byte("<!")):
		x.passUntil(x.pos, ">")
	case len(rest) < 2 || !isLetter(rest[1]) && rest[1] != '/' && rest[1] != '_' && rest[1] < 0x80:
		x.pos++
	default:
		return false
	}
	return true
}

// element follows a start tag or an end tag.
func (x *xmlBounds) element() error {
	if x.src[x.pos+1] == '/' {
		x.passUntil(x.pos, ">")
		if len(x.open) == 0 {
			return nil
		}
		last := x.open[len(x.open)-1]
		x.open = x.open[:len(x.open)-1]
		if name := string(last); len(x.open) <= 2 && (name == "item" || name == "entry") {
			x.items++
		}
		return nil
	}
	if x.tag(startTag, x.pos, x.pos+1) == startTag && !x.tok.closed {
		x.open = append(x.open, x.name())
	}
	if len(x.open) > maxXMLDepth {
		return fail(FailLimit, asText, "the feed nests deeper than %d elements", maxXMLDepth)
	}
	return nil
}
