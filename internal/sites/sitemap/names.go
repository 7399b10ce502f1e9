package sitemap

import (
	"bytes"
	"hash/fnv"
	"strings"
)

// namespace is that of sitemaps and their indexes.
const namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"

// An element is a name that matters.
type element uint8

const (
	other element = iota
	urlset
	sitemapindex
	page   // a url in a urlset
	nested // a sitemap in an index
	loc
	lastmod
	changefreq
	priority
	newsDate
	alternate // a link of XHTML
	rss
	feed
	item // of a feed
	link
	guid
	published
	updated
	html
)

// String returns the element as it is mostly written.
func (e element) String() string {
	return [...]string{"?", "urlset", "sitemapindex", "url", "sitemap", "loc", "lastmod", "changefreq", "priority", "publication_date",
		"link", "rss", "feed", "item", "link", "guid", "published", "updated", "html"}[e]
}

// kindOfRoot returns the kind of list that an element begins; "" if it begins none.
// Entries without anything around them begin one too.
func (e element) kindOfRoot() Kind {
	switch e {
	case urlset, page:
		return URLSet
	case sitemapindex, nested:
		return Index
	case rss:
		return RSS
	case feed:
		return Atom
	}
	return ""
}

// isEntry reports whether an element is an entry in a list of a kind. A url within a
// feed is that of a picture.
func (e element) isEntry(k Kind) bool {
	switch k {
	case URLSet, Index:
		return e == page || e == nested
	case RSS, Atom:
		return e == item
	}
	return false
}

// A space is what the prefix of a name stands for.
type space uint8

const (
	ownSpace   space = iota // the list itself
	newsSpace               // the news extension
	dateSpace               // Dublin Core
	htmlSpace               // XHTML
	atomSpace               // Atom, within other feeds
	otherSpace              // images, videos and whatever else
)

// spaces are marks of the namespaces that matter, in what documents declare.
var spaces = []struct {
	mark string
	space
}{
	{"sitemap-news", newsSpace},
	{"sitemap-", otherSpace}, // images, videos, mobile pages
	{"schemas/sitemap", ownSpace},
	{"purl.org/dc/", dateSpace},
	{"1999/xhtml", htmlSpace},
	{"2005/Atom", atomSpace},
	{"purl.org/rss/1.0/modules", otherSpace},
	{"purl.org/rss/1.0", ownSpace},
}

// usual are prefixes that stand for the same nearly everywhere, for documents that
// forget to declare them.
var usual = map[string]space{"news": newsSpace, "xhtml": htmlSpace, "dc": dateSpace, "dcterms": dateSpace, "atom": atomSpace, "a10": atomSpace, "rdf": ownSpace, "sitemap": ownSpace, "sm": ownSpace}

// maxPrefixes is how many prefixes a document may declare; more are not known.
const maxPrefixes = 64

// names knows what the names of elements mean in a document.
type names struct {
	rootPrefix string
	prefixes   []declared
}

type declared struct {
	prefix string
	space
}

// declare takes an attribute that may declare a prefix.
func (n *names) declare(name, value []byte) {
	prefix, ok := bytes.CutPrefix(name, []byte("xmlns:"))
	if !ok || len(n.prefixes) == maxPrefixes || len(prefix) > 100 || n.known(prefix) >= 0 {
		return
	}
	d := declared{string(prefix), otherSpace}
	for _, s := range spaces {
		if bytes.Contains(value, []byte(s.mark)) {
			d.space = s.space
			break
		}
	}
	n.prefixes = append(n.prefixes, d)
}

func (n *names) known(prefix []byte) int {
	for i := range n.prefixes {
		if string(prefix) == n.prefixes[i].prefix {
			return i
		}
	}
	return -1
}

// spaceOf returns what a prefix stands for.
func (n *names) spaceOf(prefix []byte) space {
	if len(prefix) == 0 || string(prefix) == n.rootPrefix {
		return ownSpace
	}
	i := n.known(prefix)
	if s, ok := usual[string(prefix)]; ok && (i < 0 || n.prefixes[i].space == otherSpace) {
		return s
	}
	if i >= 0 {
		return n.prefixes[i].space
	}
	return otherSpace
}

func prefixOf(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[:i]
	}
	return nil
}

// element returns what a name means.
func (n *names) element(name []byte) element {
	prefix := prefixOf(name)
	local := name
	if prefix != nil {
		local = name[len(prefix)+1:]
	}
	in := ownSpace
	if prefix != nil {
		in = n.spaceOf(prefix)
	}
	e := in.element(string(local))
	if e == other && in == otherSpace && n.rootPrefix == "" && prefix != nil {
		e = rootOf(string(local)) // whatever the prefix of a root, it is one
	}
	if e == other && len(local) <= 20 && in == ownSpace && hasUpper(local) {
		e = in.element(strings.ToLower(string(local)))
	}
	return e
}

func hasUpper(b []byte) bool {
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			return true
		}
	}
	return false
}

func rootOf(local string) element {
	switch local {
	case "urlset":
		return urlset
	case "sitemapindex":
		return sitemapindex
	}
	return other
}

// element returns what a name without its prefix means in a space.
func (s space) element(local string) element {
	switch s {
	case ownSpace:
		return ownElement(local)
	case newsSpace:
		if local == "publication_date" {
			return newsDate
		}
	case dateSpace:
		switch local {
		case "date", "issued", "created":
			return published
		case "modified":
			return updated
		}
	case htmlSpace:
		if local == "link" {
			return alternate
		}
	case atomSpace:
		switch local {
		case "feed":
			return feed
		case "link":
			return link
		case "updated":
			return updated
		case "published":
			return published
		}
	}
	return other
}

func ownElement(local string) element {
	switch local {
	case "url":
		return page
	case "loc":
		return loc
	case "lastmod":
		return lastmod
	case "changefreq":
		return changefreq
	case "priority":
		return priority
	case "sitemap":
		return nested
	case "urlset":
		return urlset
	case "sitemapindex":
		return sitemapindex
	case "publication_date":
		return newsDate
	case "item", "entry":
		return item
	case "link":
		return link
	case "guid", "id":
		return guid
	case "pubDate", "pubdate", "published", "issued":
		return published
	case "updated", "modified":
		return updated
	case "rss", "RDF", "rdf", "channel":
		return rss
	case "feed":
		return feed
	case "html":
		return html
	}
	return other
}

// hashName returns a hash by which an end tag is matched to its start.
func hashName(name []byte) uint32 {
	h := fnv.New32a()
	h.Write(name)
	return h.Sum32()
}
