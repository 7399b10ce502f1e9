package sites

import (
	"strings"

	"golang.org/x/net/html"
)

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

func readRel(value string) (r rel) {
	for word := range strings.FieldsSeq(value) {
		r |= relWords[strings.ToLower(word)]
	}
	return r
}

// attributes are those of a tag that links.
type attributes struct {
	href, src            string
	rel                  rel
	lang, mime, title    string
	name, equiv, content string
	hasHref              bool
	download, shadow     bool
}

func readAttributes(z *html.Tokenizer, more bool) (a attributes) {
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			a.href, a.hasHref = string(value), true
		case "xlink:href":
			if !a.hasHref {
				a.href, a.hasHref = string(value), true
			}
		case "src":
			a.src = string(value)
		case "rel":
			a.rel = readRel(string(value))
		case "hreflang":
			a.lang = string(value)
		case "type":
			a.mime = string(value)
		case "title":
			a.title = string(value)
		case "name":
			a.name = string(value)
		case "http-equiv":
			a.equiv = string(value)
		case "content":
			a.content = string(value)
		case "download":
			a.download = true
		case "shadowrootmode":
			a.shadow = true
		}
	}
	return a
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
