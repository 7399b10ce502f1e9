package importer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"freshet/client"
)

// eachLine reads a list of URLs, each followed by tags.
func eachLine(text string, _ Options, yield func(Entry)) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		e := Entry{Line: n, Source: client.NewSource{URL: complete(fields[0]), Tags: tagsOf(fields[1:]...)}}
		if !looksLikeURL(fields[0]) && !strings.Contains(fields[0], "://") {
			e.Err = fmt.Errorf("%.80q is not a URL", fields[0])
		}
		yield(e)
	}
	return nil
}

// eachRow reads a table. Its first row names the columns, unless it has a URL.
func eachRow(text string, _ Options, yield func(Entry)) error {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.Comment, r.LazyQuotes, r.FieldsPerRecord, r.TrimLeadingSpace = delimiterOf(text), '#', true, -1, true
	var head []string
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("this is not CSV: %w", err)
		}
		line, _ := r.FieldPos(0)
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if head == nil {
			if head = make([]string, len(row)); !slices.ContainsFunc(row, looksLikeURL) {
				copy(head, row)
				continue
			}
		}
		if strings.Join(row, "") == "" {
			continue
		}
		e := rowOf(head, row)
		e.Line = line
		yield(e)
	}
}

// delimiterOf returns the delimiter that the first lines have most of.
func delimiterOf(text string) rune {
	best, most := ',', 0
	for _, d := range ",;\t|" {
		if n := strings.Count(beginning(text), string(d)); n > most {
			best, most = d, n
		}
	}
	return best
}

// rowOf returns what becomes of a row. In a table without names of columns the first URL is the
// page, the text beside it its name, and the others are tags.
func rowOf(head, row []string) (e Entry) {
	s := &e.Source
	page := slices.IndexFunc(head, func(name string) bool { return columnOf(name) == "url" })
	if page < 0 || page >= len(row) || row[page] == "" {
		page = slices.IndexFunc(row, looksLikeURL)
	}
	if page < 0 {
		e.Err = fmt.Errorf("no column has a URL")
		return e
	}
	s.URL = complete(row[page])
	for i, cell := range row {
		name := ""
		if i < len(head) {
			name = head[i]
		}
		switch column := columnOf(name); {
		case i == page || cell == "":
		case column == "name" || name == "" && s.Name == "":
			s.Name = cell
		case column == "tags" || name == "":
			s.Tags = append(s.Tags, tagsOf(strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(",;|", r) })...)...)
		default:
			e.notef("the column %.40q is not carried over", name)
		}
	}
	return e
}

// columnOf returns what a column means by its name.
func columnOf(name string) string {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "url", "uri", "link", "address", "href", "website", "page", "feed", "feed url", "xmlurl":
		return "url"
	case "name", "title", "label", "text", "description":
		return "name"
	case "tag", "tags", "folder", "folders", "category", "categories", "group", "groups", "labels":
		return "tags"
	}
	return ""
}
