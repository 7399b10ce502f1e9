package api

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
)

type rssID struct {
	PermaLink bool   `xml:"isPermaLink,attr"`
	Text      string `xml:",chardata"`
}

type rssItem struct {
	Title       string   `xml:"title"`
	Link        string   `xml:"link,omitempty"`
	ID          rssID    `xml:"guid"`
	Date        string   `xml:"pubDate"`
	Categories  []string `xml:"category"`
	Description string   `xml:"description"`
	Content     string   `xml:"content:encoded"`

	Links []atomLink `xml:"atom:link"` // to the diff
}

type rssFeed struct {
	XMLName     xml.Name   `xml:"rss"`
	Version     string     `xml:"version,attr"`
	Atom        string     `xml:"xmlns:atom,attr"`
	Content     string     `xml:"xmlns:content,attr"`
	Title       string     `xml:"channel>title"`
	Link        string     `xml:"channel>link"`
	Description string     `xml:"channel>description"`
	Links       []atomLink `xml:"channel>atom:link"`
	Items       []rssItem  `xml:"channel>item"`
}

// rss returns the page as RSS 2.0 has it, with the links of RFC 5005.
func (f feed) rss(entries []feedEntry, base string) ([]byte, error) {
	const media = "application/rss+xml"
	page := rssFeed{
		Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Content: "http://purl.org/rss/1.0/modules/content/",
		Title: f.title, Link: cmp.Or(base, f.address(base, "")), Description: f.title + ", as Freshet saw them", Links: []atomLink{{Rel: "self", Href: f.address(base, ""), Type: media}},
	}
	if f.next != "" {
		page.Links = append(page.Links, atomLink{Rel: "next", Href: f.address(base, f.next), Type: media})
	}
	for _, e := range entries {
		item := rssItem{
			Title: e.title(), Link: e.URL, ID: rssID{Text: "urn:freshet:" + e.Kind + ":" + url.PathEscape(e.ID)}, Date: e.Before.UTC().Format(http.TimeFormat),
			Categories: e.Tags, Description: cmp.Or(e.Summary, e.title()), Content: e.html,
		}
		if diff := e.DiffLink(); diff != "" {
			item.Links = []atomLink{{Rel: "related", Href: diff, Type: "text/html"}}
		}
		page.Items = append(page.Items, item)
	}
	text, err := xml.MarshalIndent(page, "", " ")
	return append([]byte(xml.Header), text...), err
}
