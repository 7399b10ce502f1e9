package extract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lazyregexp"
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
		if entries := looseEntries(src); len(entries) > 0 {
			feed, err = parsedFeed{entries: entries}, nil
		}
	}
	if err != nil {
		return g, fail(FailParse, feedHint, "read the feed: %w", err)
	}
	if moreItems(src, len(feed.entries)) {
		if entries := looseEntries(src); len(entries) > len(feed.entries) {
			feed.entries = entries
		}
	}
	g.title, g.freshFor, g.announced = strings.Clone(plainTitle(feed.title)), feedTTL(src), feedAnnounced(src)
	entries := feed.entries[:min(len(feed.entries), maxItems)]
	g.items, g.text = make([]freshet.Item, 0, len(entries)), make([]byte, 0, len(src)*3/4)
	for i := range entries {
		e := &entries[i]
		told, text := e.item()
		g.text = appendEntry(g.text, told, text)
		g.items = append(g.items, told)
		for _, at := range [...]feedTime{e.publishedAt, e.updatedAt} {
			if at.plausible(answered) && at.After(g.modified) {
				g.modified = at.UTC()
			}
		}
		if at := cmp.Or(e.publishedAt, e.updatedAt); at.plausible(answered) {
			g.dates = append(g.dates, at.UTC())
		}
	}
	g.dates = newestFirst(g.dates)
	g.items = keyed(g.items, nil)
	return g, nil
}

// mostItemDates is how many dates of items are returned: more than are used, because some may lie
// in the future.
const mostItemDates = 4 * evidence.MaxDates

// newestFirst returns the newest of some dates, each once. When an item came out counts,
// and not when it was touched: some feeds stamp all of them whenever they are built.
func newestFirst(dates []time.Time) []time.Time {
	slices.SortFunc(dates, func(a, b time.Time) int { return b.Compare(a) })
	dates = slices.CompactFunc(dates, time.Time.Equal)
	return slices.Clone(dates[:min(len(dates), mostItemDates)])
}

// A parsedFeed is what a feed says as far as it counts here.
type parsedFeed struct {
	title   string
	entries []feedEntry
}

// A feedEntry is an entry of a feed in its own words.
type feedEntry struct {
	title, link, guid, author string
	description, content      string
	published, updated        string
	publishedAt, updatedAt    feedTime // if those could be read
	categories                []string
}

// A feedTime is a time, if it is known.
type feedTime struct {
	time.Time
	known bool
}

// item returns an entry as an item, known by its guid or else by its link, and its text in lines,
// unless that is one line as the item has it.
func (e *feedEntry) item() (out freshet.Item, text []byte) {
	out = freshet.Item{
		Key:   oneLine(cmp.Or(e.guid, e.link), 500),
		Title: plainTitle(e.title), Link: oneLine(e.address(), 2000), Date: e.date(),
	}
	if out.Text = cmp.Or(e.description, e.content); !isPlain(out.Text, maxCell) {
		text, _ = pageText([]byte(out.Text))
		out.Text = oneLine(string(text), maxCell)
	}
	if len(e.categories) > 0 {
		list := make([]string, min(len(e.categories), 100))
		for i := range list {
			list[i] = oneLine(e.categories[i], 200)
		}
		out.Fields = freshet.Fields{"categories": list}
	}
	if e.author != "" {
		if out.Fields == nil {
			out.Fields = freshet.Fields{}
		}
		out.Fields["author"] = oneLine(e.author, 200)
	}
	return out, text
}

// plausible reports whether at can be the time of an item in a feed that was sent
// at answered, which is zero if it is not known.
func (at feedTime) plausible(answered time.Time) bool {
	return at.known && at.Year() >= oldestOnFeed && (answered.IsZero() || !at.After(answered.Add(skew)))
}

// parseFeed reads a feed.
func parseFeed(src []byte) (parsedFeed, error) {
	if feed, ok := readRSS(string(src)); ok {
		return feed, nil
	}
	return parseAnyFeed(src)
}

// parseAnyFeed hands a feed to gofeed. A parser that panics over a document must not take the
// daemon down.
func parseAnyFeed(src []byte) (feed parsedFeed, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	p := gofeed.NewParser()
	p.RSSTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true} // it parses the HTML of every entry
	parsed, err := p.Parse(bytes.NewReader(src))
	if err != nil {
		return feed, err
	}
	feed = parsedFeed{title: parsed.Title, entries: make([]feedEntry, len(parsed.Items))}
	for i, item := range parsed.Items {
		feed.entries[i] = entryOf(item)
	}
	return feed, nil
}

// entryOf returns an item as gofeed has it.
func entryOf(item *gofeed.Item) feedEntry {
	e := feedEntry{
		title: item.Title, link: item.Link, guid: item.GUID, description: item.Description, content: item.Content,
		published: item.Published, updated: item.Updated, categories: item.Categories,
	}
	if item.PublishedParsed != nil {
		e.publishedAt = feedTime{*item.PublishedParsed, true}
	}
	if item.UpdatedParsed != nil {
		e.updatedAt = feedTime{*item.UpdatedParsed, true}
	}
	if len(item.Authors) > 0 && item.Authors[0] != nil {
		e.author = item.Authors[0].Name
	}
	return e
}

// isTruncated reports whether a feed breaks off, or is not well nested: what is
// there may be a part of it, which must not pass for the whole.
func isTruncated(err error) bool {
	return errors.As(err, new(*xml.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// appendEntry adds the lines of an entry: title, link, date and text. An empty line comes before it, unless it is the
// first one or says nothing.
func appendEntry(dst []byte, item freshet.Item, text []byte) []byte {
	line := item.Text
	if text != nil {
		line = ""
	}
	if len(dst) > 0 && len(item.Title)+len(item.Link)+len(item.Date)+len(line)+len(text) > 0 {
		dst = append(dst, '\n')
	}
	for _, line := range [...]string{item.Title, item.Link, item.Date, line} {
		if line != "" {
			dst = append(append(dst, line...), '\n')
		}
	}
	return append(dst, text...)
}

// address returns the link of an entry.
func (e *feedEntry) address() string {
	if e.link == "" && strings.Contains(e.guid, "://") {
		return e.guid
	}
	return e.link
}

// date returns when an entry was published or, failing that, updated: a
// touch that changes nothing else is not news.
func (e *feedEntry) date() string {
	switch {
	case e.publishedAt.known:
		return e.publishedAt.UTC().Format(time.RFC3339)
	case e.published != "":
		return oneLine(e.published, 100)
	case e.updatedAt.known:
		return e.updatedAt.UTC().Format(time.RFC3339)
	}
	return oneLine(e.updated, 100)
}

// plainTitle returns a title that may hold markup as text.
func plainTitle(s string) string {
	if isPlain(s, maxTitle) {
		return s
	}
	text, _ := pageText([]byte(s[:min(len(s), 16*maxTitle)]))
	return oneLine(strings.ToValidUTF8(string(text), ""), maxTitle)
}

// isPlain reports whether a text reads as it is written, in one line of less than limit bytes, as most do.
func isPlain(s string, limit int) bool { return isOneLine(s, limit) && !strings.ContainsAny(s, "<&") }

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

// What a feed says about itself stands before its items.
const feedHead = 16 << 10

var (
	ttlElement    = lazyregexp.New(`(?i)<ttl>\s*(\d{1,6})\s*</ttl>`)
	periodElement = lazyregexp.New(`(?i)<sy:updatePeriod>\s*(\w{1,10})\s*</sy:updatePeriod>`)
	baseElement   = lazyregexp.New(`(?i)<sy:updateBase>\s*([\dT:.+Zz-]{10,35})\s*</sy:updateBase>`)
	skipElement   = lazyregexp.New(`(?is)<skip(?:Hours|Days)>(.{0,1000}?)</skip(?:Hours|Days)>`)
	restElement   = lazyregexp.New(`(?i)<(?:hour>\s*(\d{1,2})\s*</hour|day>\s*(\w{6,9})\s*</day)>`)
	countElement  = lazyregexp.New(`(?i)<sy:updateFrequency>\s*(\d{1,6})\s*</sy:updateFrequency>`)
)

// feedTTL returns for how long a feed says that it stays as it is: its ttl, in
// minutes, or by how often it says that it is updated. Zero if it does not say.
func feedTTL(src []byte) time.Duration {
	head := headOf(src)
	if n, ok := numberIn(head, ttlElement); ok {
		return time.Duration(n) * time.Minute
	}
	return periodIn(head)
}

// headOf returns what a feed says about itself.
func headOf(src []byte) []byte {
	head := src[:min(len(src), feedHead)]
	if end := bytes.Index(head, []byte("<item")); end >= 0 {
		head = head[:end]
	}
	return head
}

// periodIn returns how often a feed says that it is updated; zero if it does not say.
func periodIn(head []byte) time.Duration {
	found := periodElement.FindSubmatch(head)
	if found == nil {
		return 0
	}
	period := map[string]time.Duration{
		"hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour, "monthly": 30 * 24 * time.Hour, "yearly": 365 * 24 * time.Hour,
	}[strings.ToLower(string(found[1]))]
	if n, ok := numberIn(head, countElement); ok && n > 0 {
		period /= time.Duration(n)
	}
	return period
}

// feedAnnounced returns when a feed says that it is updated: by a schedule that counts from
// a moment, and not in some hours of the day and on some days of the week.
func feedAnnounced(src []byte) (f evidence.Announcement) {
	head := headOf(src)
	const longest = 7 * 24 * time.Hour // months and years have no length
	if period, base := periodIn(head), baseElement.FindSubmatch(head); base != nil && period >= time.Minute && period <= longest {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04-0700", "2006-01-02"} {
			if at, err := time.Parse(layout, string(base[1])); err == nil && at.Year() >= 1970 && at.Year() < 2200 {
				f.Next = []evidence.Next{{By: evidence.NextByFeed, At: at.UTC(), Every: period}}
				break
			}
		}
	}
	for _, skip := range skipElement.FindAllSubmatch(head, 4) {
		for _, one := range restElement.FindAllSubmatch(skip[1], 32) {
			if hour, err := strconv.Atoi(string(one[1])); err == nil && hour <= 24 {
				f.Rests |= f.Rests.Hour(hour % 24) // 24 is midnight to some
			}
			for day := time.Sunday; day <= time.Saturday; day++ {
				if strings.EqualFold(day.String(), string(one[2])) {
					f.Rests |= f.Rests.Day(day)
				}
			}
		}
	}
	if !f.Rests.Sound() {
		f.Rests = 0
	}
	return f
}

// numberIn returns the number that an element holds, if the element is there.
func numberIn(src []byte, element *lazyregexp.Regexp) (int, bool) {
	found := element.FindSubmatch(src)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(found[1]))
	return n, err == nil
}

// looseEntries returns the entries of a feed that a strict parser does not find: those
// within others, within elements that were never closed, or with members of the
// wrong type.
func looseEntries(src []byte) []feedEntry {
	if start := bytes.TrimLeft(src, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		return looseJSONEntries(src)
	}
	root, err := parseXML(src)
	if err != nil {
		return nil
	}
	var entries []feedEntry
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "item" || n.Data == "entry") {
			if entries = append(entries, looseEntry(n)); len(entries) == maxItems {
				break
			}
		}
	}
	return entries
}

// looseEntry reads the children of an item, but not those of items within it.
func looseEntry(n *html.Node) (e feedEntry) {
	set := func(place *string, text string) {
		if *place == "" {
			*place = strings.TrimSpace(text)
		}
	}
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		switch c.Data {
		case "title":
			set(&e.title, innerText(c))
		case "link":
			href, _ := attributeValue(c, "href")
			set(&e.link, href+innerText(c))
		case "guid", "id":
			set(&e.guid, innerText(c))
		case "pubDate", "published", "dc:date", "issued":
			set(&e.published, innerText(c))
		case "updated", "modified":
			set(&e.updated, innerText(c))
		case "description", "summary":
			set(&e.description, innerText(c))
		case "content", "content:encoded":
			set(&e.content, innerText(c))
		}
	}
	return e
}

// looseJSONEntries reads the items of a JSON Feed, whatever the types of their
// members.
func looseJSONEntries(src []byte) (entries []feedEntry) {
	var feed struct {
		Items []map[string]any `json:"items"`
	}
	if json.Unmarshal(src, &feed) != nil {
		return nil
	}
	for _, m := range feed.Items[:min(len(feed.Items), maxItems)] {
		text := func(name string) string { return textOf(bounded(m[name])) }
		entries = append(entries, feedEntry{
			title: text("title"), link: text("url"), guid: text("id"), published: text("date_published"), updated: text("date_modified"),
			description: text("summary"), content: text("content_html") + text("content_text"),
		})
	}
	return entries
}

// moreItems reports whether a feed has more items than a parser found in it.
func moreItems(src []byte, found int) bool {
	if found >= maxItems {
		return false
	}
	n := 0
	for _, tag := range []string{"<item>", "<item ", "<entry>", "<entry "} {
		n += bytes.Count(src, []byte(tag))
	}
	return n > found
}
