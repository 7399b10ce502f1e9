package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"
)

// looseItems returns the items of a feed that a strict parser does not find: those
// within others, within elements that were never closed, or with members of the
// wrong type.
func looseItems(src []byte) []*gofeed.Item {
	if start := bytes.TrimLeft(src, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		return looseJSONItems(src)
	}
	root, err := parseXML(src)
	if err != nil {
		return nil
	}
	var items []*gofeed.Item
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "item" || n.Data == "entry") {
			if items = append(items, looseItem(n)); len(items) == maxItems {
				break
			}
		}
	}
	return items
}

// looseItem reads the children of an item, but not those of items within it.
func looseItem(n *html.Node) *gofeed.Item {
	item := &gofeed.Item{}
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
			set(&item.Title, innerText(c))
		case "link":
			href, _ := attributeValue(c, "href")
			set(&item.Link, href+innerText(c))
		case "guid", "id":
			set(&item.GUID, innerText(c))
		case "pubDate", "published", "dc:date", "issued":
			set(&item.Published, innerText(c))
		case "updated", "modified":
			set(&item.Updated, innerText(c))
		case "description", "summary":
			set(&item.Description, innerText(c))
		case "content", "content:encoded":
			set(&item.Content, innerText(c))
		}
	}
	return item
}

// looseJSONItems reads the items of a JSON Feed, whatever the types of their
// members.
func looseJSONItems(src []byte) (items []*gofeed.Item) {
	var feed struct {
		Items []map[string]any `json:"items"`
	}
	if json.Unmarshal(src, &feed) != nil {
		return nil
	}
	for _, m := range feed.Items[:min(len(feed.Items), maxItems)] {
		text := func(name string) string { return textOf(bounded(m[name])) }
		items = append(items, &gofeed.Item{
			Title: text("title"), Link: text("url"), GUID: text("id"), Published: text("date_published"), Updated: text("date_modified"),
			Description: text("summary"), Content: text("content_html") + text("content_text"),
		})
	}
	return items
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
