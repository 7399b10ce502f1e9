package importer

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"freshet/client"
)

// eachOutline reads the outlines that have a feed. Enclosing folders become tags.
func eachOutline(text string, yield func(Entry) error) error {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it came as text
	var folders []string
	known := false
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: this is no OPML: %w", line, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			known = known || strings.EqualFold(t.Name.Local, "opml")
			if !strings.EqualFold(t.Name.Local, "outline") {
				continue
			}
			e, folder := outline(t, folders)
			if folders = append(folders, folder); e != nil && known {
				e.Line = line
				if err := yield(*e); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if strings.EqualFold(t.Name.Local, "outline") && len(folders) > 0 {
				folders = folders[:len(folders)-1]
			}
		}
	}
	if !known {
		return fmt.Errorf("this is no OPML: there is no element opml")
	}
	return nil
}

// outline returns the feed of an outline, or the folder that it is.
func outline(t xml.StartElement, folders []string) (e *Entry, folder string) {
	at := map[string]string{}
	for _, a := range t.Attr {
		at[strings.ToLower(a.Name.Local)] = strings.TrimSpace(a.Value)
	}
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
	return &Entry{Source: client.NewSource{URL: url, Name: name, Tags: tagsOf(tags)}}, ""
}
