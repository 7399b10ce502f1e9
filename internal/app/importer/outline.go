package importer

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"freshet/client"
)

// tags returns the tags and texts of a document, each with the line on which it begins. OPML and
// bookmarks are written by many programs and by hand, so they are read as browsers read HTML: no
// mistake ends them.
func tags(text string) iter.Seq2[int, html.Token] {
	return func(yield func(int, html.Token) bool) {
		m, line := html.NewTokenizer(strings.NewReader(text)), 1
		for kind := m.Next(); kind != html.ErrorToken; kind = m.Next() {
			lines := strings.Count(string(m.Raw()), "\n")
			t := m.Token()
			if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
				m.NextIsNotRawText() // an empty title would hide what follows it
			}
			if !yield(line, t) {
				return
			}
			line += lines
		}
	}
}

// attribute returns an attribute of a tag.
func attribute(t html.Token, name string) (value string) {
	for _, a := range t.Attr {
		if a.Key == name {
			value = strings.TrimSpace(a.Val)
		}
	}
	return value
}

// eachOutline reads the outlines that have a feed. Enclosing folders become tags.
func eachOutline(text string, _ Options, yield func(Entry)) error {
	var folders []string
	found := false
	for line, t := range tags(text) {
		found = found || t.Data == "opml" || t.Data == "outline"
		if t.Data != "outline" {
			continue
		}
		if t.Type == html.EndTagToken {
			folders = folders[:max(0, len(folders)-1)]
			continue
		}
		name := cmp.Or(attribute(t, "title"), attribute(t, "text"))
		if url := attribute(t, "xmlurl"); url != "" {
			names := slices.Clone(folders)
			for c := range strings.SplitSeq(attribute(t, "category"), ",") {
				names = append(names, strings.Trim(c, "/ "))
			}
			yield(Entry{Line: line, Source: client.NewSource{URL: complete(url), Name: name, Tags: tagsOf(names...)}})
			name = ""
		}
		if t.Type == html.StartTagToken {
			folders = append(folders, name)
		}
	}
	if !found {
		return errors.New("this is not OPML: there is no element opml")
	}
	return nil
}

// eachBookmark reads the bookmarks of a browser. Enclosing folders become tags.
func eachBookmark(text string, _ Options, yield func(Entry)) error {
	var folders []string
	var link *Entry // whose text is read
	said := ""      // since the last heading or link began
	end := func() {
		if link == nil {
			return
		}
		link.Source.Name = strings.TrimSpace(said)
		if scheme, _, _ := strings.Cut(link.Source.URL, ":"); scheme != "http" && scheme != "https" {
			link.Err = fmt.Errorf("%.80q is not the URL of a page", link.Source.URL)
		}
		yield(*link)
		link, said = nil, ""
	}
	for line, t := range tags(text) {
		start := t.Type == html.StartTagToken
		switch {
		case t.Type == html.TextToken:
			said += t.Data
		case t.Data == "h3" && start:
			end()
			said = ""
		case t.Data == "dl" && start:
			folders, said = append(folders, strings.TrimSpace(said)), ""
		case t.Data == "dl":
			end()
			folders = folders[:max(0, len(folders)-1)]
		case t.Data == "a" && start:
			end()
			link, said = &Entry{Line: line, Source: client.NewSource{URL: attribute(t, "href"), Tags: tagsOf(slices.Concat(folders, strings.Split(attribute(t, "tags"), ","))...)}}, ""
		case t.Data == "a":
			end()
		}
	}
	end()
	return nil
}
