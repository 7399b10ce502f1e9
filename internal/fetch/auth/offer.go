package auth

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
)

var linkHeader = lazyregexp.New(`<([^<>]*)>([^,<]*)`)

// offered returns the hub that a feed names, and what the feed calls itself; "" if it
// names none. The header counts before the feed.
func offered(resp freshet.Response) (hub, self string) {
	note := func(rel, href string) {
		for _, word := range strings.Fields(strings.ToLower(rel)) {
			switch {
			case word == "hub" && hub == "":
				hub = absolute(resp.URL, href)
			case word == "self" && self == "":
				self = absolute(resp.URL, href)
			}
		}
	}
	for _, m := range linkHeader.FindAllStringSubmatch(strings.Join(resp.Header.Values("Link"), ","), 32) {
		for param := range strings.SplitSeq(m[2], ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(param), "="); ok && strings.EqualFold(name, "rel") {
				note(strings.Trim(value, `"`), m[1])
			}
		}
	}
	if hub == "" {
		linked(resp.Body[:min(len(resp.Body), maxOffer)], note)
	}
	if hub != "" && self == "" {
		self = resp.URL
	}
	return hub, self
}

// linked shows the links in the beginning of a feed, up to its first item.
func linked(body []byte, note func(rel, href string)) {
	tokens := html.NewTokenizer(bytes.NewReader(body))
	feed := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := tokens.Token()
			feed = feed || slices.Contains([]string{"rss", "feed", "rdf:rdf"}, tag.Data)
			switch tag.Data {
			case "item", "entry":
				return
			case "link", "atom:link", "atom10:link":
				if rel, href := attribute(tag, "rel"), attribute(tag, "href"); feed && href != "" {
					note(rel, href)
				}
			}
		}
	}
}

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// absolute returns where a link of a page leads.
func absolute(page, href string) string {
	base, err := url.Parse(page)
	if err != nil {
		return ""
	}
	u, err := base.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	return u.String()
}
