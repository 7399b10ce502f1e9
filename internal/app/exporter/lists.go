package exporter

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"freshet/client"
	"freshet/internal/freshet/reading"
	"freshet/internal/lazyregexp"
	"freshet/internal/mask"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// eachListed calls do for each source that is not part of a site, by ID. It returns how many, and how many have a URL
// with a secret, which is not written.
func (s *Selection) eachListed(ctx context.Context, do func(client.Source) error) (n, masked int, err error) {
	err = s.Client.Sources.Each(ctx, client.SourceQuery{Tag: s.Tag}, func(c client.Source) error {
		if c.Of != "" || s.Source != "" && s.Source != c.ID {
			return nil
		}
		n++
		if mask.Applied(c.URL) {
			masked++
		}
		return do(c)
	})
	return n, masked, err
}

// An outline is an entry of OPML.
type outline struct {
	Text     string `xml:"text,attr"`
	Title    string `xml:"title,attr"`
	Type     string `xml:"type,attr"`
	XMLURL   string `xml:"xmlUrl,attr,omitempty"`
	HTMLURL  string `xml:"htmlUrl,attr,omitempty"`
	URL      string `xml:"url,attr,omitempty"`
	Category string `xml:"category,attr,omitempty"`
}

// OPML writes the sources as OPML 2.0: feeds as rss, and other pages as links. It returns what eachListed does.
func (s *Selection) OPML(ctx context.Context, to io.Writer) (n, masked int, err error) {
	if _, err := io.WriteString(to, xml.Header+"<opml version=\"2.0\">\n<head><title>Freshet</title></head>\n<body>\n"); err != nil {
		return 0, 0, err
	}
	x := xml.NewEncoder(to)
	n, masked, err = s.eachListed(ctx, func(c client.Source) error {
		name := cmp.Or(c.Name, c.Standing.Title, c.URL)
		o := outline{Text: name, Title: name, Type: "link", URL: c.URL, Category: strings.Join(c.Tags, ",")}
		if isFeed(c) {
			o.Type, o.XMLURL, o.URL = "rss", c.URL, ""
		}
		if err := x.EncodeElement(o, xml.StartElement{Name: xml.Name{Local: "outline"}}); err != nil {
			return err
		}
		if err := x.Flush(); err != nil {
			return err
		}
		_, err := io.WriteString(to, "\n")
		return err
	})
	if err == nil {
		_, err = io.WriteString(to, "</body>\n</opml>\n")
	}
	return n, masked, err
}

// isFeed reports whether a source is a feed, as far as its definition and its URL say.
func isFeed(c client.Source) bool {
	if c.Select.Kind != "" {
		return c.Select.Kind == reading.Feed
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return false
	}
	return feedPath.MatchString(u.Path)
}

var feedPath = lazyregexp.New(`(?i)(\.rss|\.atom|\.rdf|(feed|rss|atom|index)\.xml|/(feed|rss|atom))/?$`)

// CSV writes the sources as a table that freshet import reads. It returns what eachListed does.
func (s *Selection) CSV(ctx context.Context, to io.Writer) (n, masked int, err error) {
	w := csv.NewWriter(to)
	if err := w.Write([]string{"url", "name", "tags", "id", "css", "jsonpath", "level", "min_gap", "max_gap", "paused", "versions", "changes", "last_change"}); err != nil {
		return 0, 0, err
	}
	n, masked, err = s.eachListed(ctx, func(c client.Source) error {
		changed := ""
		if at := c.Standing.ChangedAt; !at.IsZero() {
			changed = at.UTC().Format("2006-01-02T15:04:05Z")
		}
		return w.Write(safeCells([]string{
			c.URL, c.Name, strings.Join(c.Tags, " "), string(c.ID), c.Select.CSS, c.Select.JSONPath, c.Level, gap(c.MinGap), gap(c.MaxGap),
			fmt.Sprint(c.Paused), fmt.Sprint(c.Standing.Version), fmt.Sprint(c.Standing.Changes), changed,
		}))
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return n, masked, err
}

func gap(d client.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
