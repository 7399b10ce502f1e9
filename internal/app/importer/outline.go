package importer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"freshet/client"
)

// markup reads the tags of a text one after the other. OPML and bookmarks are written by many
// programs and by hand, so it is read as browsers read HTML: no mistake ends it.
type markup struct {
	*html.Tokenizer
	line int // on which the token begins
	next int
}

func readMarkup(text string) *markup {
	return &markup{Tokenizer: html.NewTokenizer(strings.NewReader(text)), next: 1}
}

// token returns the next token, or false at the end.
func (m *markup) token() (html.Token, bool, error) {
	kind := m.Next()
	m.line, m.next = m.next, m.next+strings.Count(string(m.Raw()), "\n")
	if kind == html.ErrorToken {
		if err := m.Err(); !errors.Is(err, io.EOF) {
			return html.Token{}, false, err
		}
		return html.Token{}, false, nil
	}
	t := m.Token()
	if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
		m.NextIsNotRawText() // an empty title would hide what follows it
	}
	return t, true, nil
}

// attributes returns the attributes of a tag by their names in lower case.
func attributes(t html.Token) map[string]string {
	at := map[string]string{}
	for _, a := range t.Attr {
		at[a.Key] = strings.TrimSpace(a.Val)
	}
	return at
}

// eachOutline reads the outlines that have a feed. Enclosing folders become tags.
func eachOutline(text string, _ Options, yield func(Entry) error) error {
	m := readMarkup(text)
	var folders []string
	found := false
	for {
		t, more, err := m.token()
		if err != nil {
			return fmt.Errorf("line %d: this is not OPML: %w", m.line, err)
		}
		if !more {
			break
		}
		found = found || t.Data == "opml" || t.Data == "outline"
		if t.Data != "outline" {
			continue
		}
		if t.Type == html.EndTagToken {
			folders = folders[:max(0, len(folders)-1)]
			continue
		}
		e, folder := outlineOf(attributes(t), folders)
		if t.Type == html.StartTagToken {
			folders = append(folders, folder)
		}
		if e == nil {
			continue
		}
		e.Line = m.line
		if err := yield(*e); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("this is not OPML: there is no element opml")
	}
	return nil
}

// outlineOf returns the feed of an outline, or the folder that it is.
func outlineOf(at map[string]string, folders []string) (e *Entry, folder string) {
	name := at["title"]
	if name == "" {
		name = at["text"]
	}
	url := at["xmlurl"]
	if url == "" {
		return nil, name
	}
	tags := append([]string{}, folders...)
	for c := range strings.SplitSeq(at["category"], ",") {
		tags = append(tags, strings.Trim(c, "/ "))
	}
	return &Entry{Source: client.NewSource{URL: Complete(url), Name: name, Tags: tagsOf(tags...)}}, ""
}

// eachBookmark reads the bookmarks of a browser. Enclosing folders become tags.
func eachBookmark(text string, _ Options, yield func(Entry) error) error {
	m := readMarkup(text)
	var folders []string
	var link *Entry  // whose text is read
	heading := false // the text of a folder is read
	said := ""
	for {
		t, more, err := m.token()
		if err != nil {
			return fmt.Errorf("line %d: these are not bookmarks: %w", m.line, err)
		}
		if !more {
			return nil
		}
		start := t.Type == html.StartTagToken
		switch {
		case t.Type == html.TextToken && (link != nil || heading):
			said += t.Data
		case t.Data == "h3":
			if heading = start; start {
				said = ""
			}
		case t.Data == "dl" && start:
			folders, said = append(folders, said), ""
		case t.Data == "dl":
			folders = folders[:max(0, len(folders)-1)]
		case t.Data == "a" && start:
			at := attributes(t)
			link, said = &Entry{Line: m.line, Source: client.NewSource{URL: at["href"], Tags: tagsOf(slices.Concat(folders, strings.Split(at["tags"], ","))...)}}, ""
		case t.Data == "a" && link != nil:
			link.Source.Name = strings.TrimSpace(said)
			if scheme, _, _ := strings.Cut(link.Source.URL, ":"); scheme != "http" && scheme != "https" {
				link.Err = fmt.Errorf("%.80q is not the URL of a page", link.Source.URL)
			}
			if err := yield(*link); err != nil {
				return err
			}
			link, said = nil, ""
		}
	}
}
