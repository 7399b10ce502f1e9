package sites

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/extract"
)

// MostLinks is how many different links of one page are read.
const MostLinks = 10_000

// A Page is what one page says about the site: where it links to and what it asks of
// crawlers. All URLs in it are normalised.
type Page struct {
	Links      []Link      // in the order of the page, each URL once
	Canonical  string      // the URL under which the page wants to be known; empty if it says none
	NoIndex    bool        // it does not want to be kept
	NoFollow   bool        // none of its links are to be followed
	Alternates []Alternate // the page in other languages
	Feeds      []Feed      // feeds that it offers
	Next, Prev string      // neighbours in a list of pages
	Cut        bool        // it has more than MostLinks; the rest is not here
}

// A Link is one page that another links to.
type Link struct {
	URL string
	// NoFollow, UGC and Sponsored are what every link to this URL says in rel: do not
	// follow, written by visitors, paid for.
	NoFollow, UGC, Sponsored bool
}

// Follow reports whether a crawler may follow the link.
func (l Link) Follow() bool { return !l.NoFollow && !l.UGC && !l.Sponsored }

// An Alternate is the same page for other readers.
type Alternate struct{ Lang, URL string }

// A Feed is one that a page offers.
type Feed struct{ URL, Type, Title string }

// Asked is what came with a page, beside its text.
type Asked struct {
	Agent     string   // the name by which robots rules address us, such as "freshet"
	RobotsTag []string // the values of X-Robots-Tag headers
}

// Links reads the links of an HTML page in UTF-8 that was found at url. Links to what is
// no page are left out: other schemes than http and https, downloads, and files that
// [PageName] does not take for pages.
func Links(body []byte, url string, asked Asked) Page {
	most := min(bytes.Count(body, []byte("href")), 1000) // about as many links as there will be
	s := scan{asked: asked, seen: make(map[string]int, most), targets: make([]target, 0, most)}
	s.read(body)
	for _, value := range asked.RobotsTag {
		s.directives.header(value, asked.Agent)
	}
	return s.page(url)
}

// A kind is what a link is for.
type kind uint8

const (
	toPage kind = iota
	toCanonical
	toAlternate
	toFeed
	toNext
	toPrev
)

// A target is a link as it is written. It is resolved when the page has been read,
// because a base may come late.
type target struct {
	kind       kind
	href       string
	rel        rel
	lang, mime string
	title      string
}

// A scan goes through the tags of one page.
type scan struct {
	asked      Asked
	directives directives
	base       string
	based      bool
	targets    []target
	seen       map[string]int // links to pages, by how they are written
	cut        bool
	templates  int // how many are open; what is in them is not shown
}

func (s *scan) read(body []byte) {
	for tag := range extract.Tags(body) {
		if !tag.End {
			s.tag(tag)
		} else if s.templates > 0 && bytes.EqualFold(tag.Name, []byte("template")) {
			s.templates--
		}
	}
}

// linking are the elements that can link, or hide links.
var linking = [...]string{"a", "area", "link", "meta", "base", "frame", "template"}

// tag reads a start tag, if it is one that can link.
func (s *scan) tag(tag extract.Tag) {
	var room [len("template")]byte
	name := appendLower(room[:0], tag.Name[:min(len(tag.Name), len(room))])
	if len(tag.Name) > len(room) {
		return
	}
	if i := slices.Index(linking[:], string(name)); i >= 0 {
		s.element(linking[i], readAttributes(tag))
	}
}

// element reads an element that can link.
func (s *scan) element(name string, a attributes) {
	if name == "template" {
		if !a.shadow {
			s.templates++
		}
		return
	}
	if !a.any || s.templates > 0 {
		return
	}
	switch name {
	case "a", "area":
		s.anchor(a)
	case "link":
		s.link(a)
	case "meta":
		s.meta(a)
	case "base":
		s.setBase(a)
	case "frame":
		s.add(target{}, a.src)
	}
}

// appendLower appends text with its ASCII letters in lower case.
func appendLower(to, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		to = append(to, c)
	}
	return to
}

func (s *scan) anchor(a attributes) {
	if a.hasHref && !a.download {
		s.add(target{rel: readRel(a.rel)}, a.href)
	}
}

// setBase notes what links are relative to. Of several, the first one counts.
func (s *scan) setBase(a attributes) {
	if !s.based && a.hasHref {
		s.base, s.based = string(a.href), true
	}
}

// link reads a link element, which says what the page has to do with another.
func (s *scan) link(a attributes) {
	if !a.hasHref {
		return
	}
	t := target{rel: readRel(a.rel), lang: string(a.lang), mime: strings.ToLower(string(a.mime)), title: string(a.title)}
	switch {
	case t.rel.has(relCanonical):
		t.kind = toCanonical
	case t.rel.has(relAlternate) && isFeed(t.mime):
		t.kind = toFeed
	case t.rel.has(relAlternate) && t.lang != "":
		t.kind = toAlternate
	case t.rel.has(relNext):
		t.kind = toNext
	case t.rel.has(relPrev):
		t.kind = toPrev
	default:
		return
	}
	s.add(t, a.href)
}

func isFeed(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	switch strings.TrimSpace(mime) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		return true
	}
	return false
}

// meta reads a meta element: rules for crawlers, or a redirect.
func (s *scan) meta(a attributes) {
	name := strings.ToLower(strings.TrimSpace(string(a.name)))
	if name == "robots" || s.asked.Agent != "" && name == strings.ToLower(s.asked.Agent) {
		s.directives.list(string(a.content))
	}
	if strings.EqualFold(strings.TrimSpace(string(a.equiv)), "refresh") {
		if href, ok := refreshTarget(string(a.content)); ok {
			s.add(target{}, []byte(href))
		}
	}
}

// refreshTarget returns the URL of a redirect such as "0; url=/new".
func refreshTarget(content string) (string, bool) {
	i := strings.IndexAny(content, ";,")
	if i < 0 {
		return "", false
	}
	rest := strings.TrimSpace(content[i+1:])
	if len(rest) < 3 || !strings.EqualFold(rest[:3], "url") {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(rest[3:]), "=")
	if rest = strings.TrimSpace(rest); len(rest) > 1 && (rest[0] == '\'' || rest[0] == '"') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return rest, ok && rest != ""
}

// add notes a link. The same link is often written many times on a page, and is
// resolved only once.
func (s *scan) add(t target, href []byte) {
	if len(href) > LongestURL {
		return
	}
	if t.kind == toPage {
		if at, ok := s.seen[string(href)]; ok {
			s.targets[at].rel &= t.rel
			return
		}
	}
	if len(s.targets) >= MostLinks {
		s.cut = true
		return
	}
	t.href = string(href)
	if t.kind == toPage {
		s.seen[t.href] = len(s.targets)
	}
	s.targets = append(s.targets, t)
}

// page resolves what was found.
func (s *scan) page(url string) Page {
	p := Page{NoIndex: s.directives.noIndex, NoFollow: s.directives.noFollow, Cut: s.cut}
	from, err := newBase(url)
	if err != nil {
		return p
	}
	if s.based {
		if named, err := from.resolve(s.base); err == nil {
			from = named
		}
	}
	at := make(map[string]int, len(s.targets))
	for _, t := range s.targets {
		to, err := from.normalise(t.href)
		if err != nil {
			continue
		}
		switch t.kind {
		case toPage:
			p.link(at, to, t.rel)
		case toCanonical:
			p.Canonical = cmp.Or(p.Canonical, to)
		case toAlternate:
			p.Alternates = append(p.Alternates, Alternate{Lang: t.lang, URL: to})
		case toFeed:
			p.Feeds = append(p.Feeds, Feed{URL: to, Type: t.mime, Title: t.title})
		case toNext:
			p.Next = cmp.Or(p.Next, to)
		case toPrev:
			p.Prev = cmp.Or(p.Prev, to)
		}
	}
	return p
}

// link adds a link to a page, or what one more link to it says.
func (p *Page) link(at map[string]int, to string, r rel) {
	if i, ok := at[to]; ok {
		l := &p.Links[i]
		l.NoFollow, l.UGC, l.Sponsored = l.NoFollow && r.has(relNoFollow), l.UGC && r.has(relUGC), l.Sponsored && r.has(relSponsored)
		return
	}
	if !PageName(to) {
		return
	}
	at[to] = len(p.Links)
	p.Links = append(p.Links, Link{URL: to, NoFollow: r.has(relNoFollow), UGC: r.has(relUGC), Sponsored: r.has(relSponsored)})
}

// rel is the words of a rel attribute that mean something here.
type rel uint16

const (
	relNoFollow rel = 1 << iota
	relUGC
	relSponsored
	relCanonical
	relAlternate
	relNext
	relPrev
)

func (r rel) has(word rel) bool { return r&word != 0 }

var relWords = map[string]rel{
	"nofollow": relNoFollow, "ugc": relUGC, "sponsored": relSponsored, "canonical": relCanonical,
	"alternate": relAlternate, "next": relNext, "prev": relPrev, "previous": relPrev,
}

func readRel(value []byte) (r rel) {
	for word := range bytes.FieldsSeq(value) {
		known, ok := relWords[string(word)]
		if !ok {
			known = relWords[strings.ToLower(string(word))]
		}
		r |= known
	}
	return r
}

// attributes are those of a tag that links.
type attributes struct {
	href, src, rel       []byte
	lang, mime, title    []byte
	name, equiv, content []byte
	hasHref              bool
	download, shadow     bool

	any   bool   // it has some, known here or not
	named uint16 // which of them have been read
}

// attributeNames are those that mean something here. The place of one is its bit.
var attributeNames = [...]string{"href", "xlink:href", "src", "rel", "hreflang", "type", "title", "name", "http-equiv", "content", "download", "shadowrootmode"}

func readAttributes(tag extract.Tag) (a attributes) {
	for key, value := range tag.Attributes() {
		a.any = true
		i := slices.IndexFunc(attributeNames[:], func(name string) bool { return len(name) == len(key) && equalFold(key, name) })
		if i < 0 || a.named&(1<<i) != 0 { // the first of a name counts
			continue
		}
		if bytes.ContainsAny(value, "&\r\x00") {
			return readExactly(tag.Src)
		}
		a.set(i, value)
	}
	return a
}

// equalFold reports whether a name as it is written is one in lower case, of the same length.
func equalFold(written []byte, name string) bool {
	for i, c := range written {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// readExactly is readAttributes for a tag in which there is more to do than to cut out values.
func readExactly(tag []byte) (a attributes) {
	z := html.NewTokenizer(bytes.NewReader(tag))
	z.Next()
	return tokenAttributes(z)
}

// tokenAttributes reads the attributes of the tag that a tokenizer is at.
func tokenAttributes(z *html.Tokenizer) (a attributes) {
	for {
		key, value, more := z.TagAttr()
		a.any = a.any || len(key) > 0
		if i := slices.Index(attributeNames[:], string(key)); i >= 0 {
			a.set(i, value)
		}
		if !more {
			return a
		}
	}
}

// set sets the attribute with a name.
func (a *attributes) set(i int, value []byte) {
	a.named |= 1 << i
	switch attributeNames[i] {
	case "href":
		a.href, a.hasHref = value, true
	case "xlink:href":
		if !a.hasHref {
			a.href, a.hasHref = value, true
		}
	case "src":
		a.src = value
	case "rel":
		a.rel = value
	case "hreflang":
		a.lang = value
	case "type":
		a.mime = value
	case "title":
		a.title = value
	case "name":
		a.name = value
	case "http-equiv":
		a.equiv = value
	case "content":
		a.content = value
	case "download":
		a.download = true
	case "shadowrootmode":
		a.shadow = true
	}
}

// directives are what a page or its server asks of crawlers. Of two that differ, the
// stricter one counts.
type directives struct{ noIndex, noFollow bool }

// list reads rules such as "noindex, nofollow".
func (d *directives) list(content string) {
	for word := range strings.SplitSeq(content, ",") {
		d.word(strings.TrimSpace(word))
	}
}

func (d *directives) word(word string) {
	switch strings.ToLower(word) {
	case "noindex":
		d.noIndex = true
	case "nofollow":
		d.noFollow = true
	case "none":
		d.noIndex, d.noFollow = true, true
	}
}

// header reads a value of X-Robots-Tag. A rule may be for one crawler: then its name and
// a colon stand before it, and the rules after it are for the same.
func (d *directives) header(value, agent string) {
	forUs := true
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		if name, rest, ok := strings.Cut(word, ":"); ok && !hasValue(name) {
			name = strings.TrimSpace(name)
			forUs = name == "*" || strings.EqualFold(name, "robots") || agent != "" && strings.EqualFold(name, agent)
			word = strings.TrimSpace(rest)
		}
		if forUs {
			d.word(word)
		}
	}
}

// hasValue reports whether a rule has a value after a colon, and is no crawler's name.
func hasValue(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}
