package importer

import (
	"encoding/json"
	"fmt"
	"strings"

	"freshet/client"
)

// A Format is a way in which programs write lists of pages.
type Format string

// The formats.
const (
	List            Format = "list"            // an address on each line; what follows it are tags
	OPML            Format = "opml"            // of feed readers
	Urlwatch        Format = "urlwatch"        // its urls.yaml, and that of webchanges
	Changedetection Format = "changedetection" // url-watches.json, or what its API lists
)

// Formats are all of them.
var Formats = []Format{List, OPML, Urlwatch, Changedetection}

// An Entry is one page of a list.
type Entry struct {
	Line   int // that it begins in; zero if the format has none
	Source client.NewSource
	Notes  []string // what is not carried over
	Err    error    // why it is none
}

// MaxEntries is how many entries of one list are read.
const MaxEntries = 10_000

// Guess returns the format that a text probably has.
func Guess(text string) Format {
	begin := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	switch {
	case strings.HasPrefix(begin, "<"):
		return OPML
	case strings.HasPrefix(begin, "{"), strings.HasPrefix(begin, "[") && json.Valid([]byte(begin)):
		return Changedetection
	}
	for line := range strings.Lines(begin) {
		line = strings.TrimSpace(line)
		for _, key := range []string{"url:", "navigate:", "- url:", "name:", "- name:", "---"} {
			if strings.HasPrefix(line, key) {
				return Urlwatch
			}
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			return List
		}
	}
	return List
}

// Read returns the entries of a list. The error says why it is not of the format; what is
// wrong with one entry is said there.
func Read(format Format, text string) (entries []Entry, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	switch format {
	case List:
		entries = readList(text)
	case OPML:
		entries, err = readOPML(text)
	case Urlwatch:
		entries, err = readUrlwatch(text)
	case Changedetection:
		entries, err = readChangedetection(text)
	default:
		return nil, fmt.Errorf("%q is not a format; use list, opml, urlwatch or changedetection", format)
	}
	if len(entries) > MaxEntries {
		return nil, fmt.Errorf("there are %d entries; bring at most %d at once", len(entries), MaxEntries)
	}
	return entries, err
}

func readList(text string) (entries []Entry) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		entries = append(entries, Entry{Line: n, Source: client.NewSource{URL: Complete(fields[0]), Tags: tagsOf(fields[1:])}})
	}
	return entries
}

// Complete adds the scheme that nobody types.
func Complete(url string) string {
	if scheme, _, ok := strings.Cut(url, ":"); ok && !strings.Contains(scheme, ".") && !strings.Contains(scheme, "/") && scheme != "localhost" {
		return url
	}
	return "https://" + url
}

// tagsOf returns names as tags: without what a tag cannot have.
func tagsOf(names []string) (tags []string) {
	for _, name := range names {
		name = strings.Trim(strings.TrimSpace(name), ",#")
		if name != "" {
			tags = append(tags, strings.Join(strings.Fields(name), "-"))
		}
	}
	return tags
}
