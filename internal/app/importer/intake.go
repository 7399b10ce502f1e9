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
	n := 0
	err = Each(format, text, func(e Entry) error {
		if n++; n <= MaxEntries {
			entries = append(entries, e)
		}
		return nil
	})
	if n > MaxEntries {
		return nil, fmt.Errorf("there are %d entries; bring at most %d at once", n, MaxEntries)
	}
	return entries, err
}

// Each hands the entries of a list to yield, and ends with its error. A list and OPML take no
// memory for entries that were handed over, jobs of urlwatch that of a YAML document.
func Each(format Format, text string, yield func(Entry) error) error {
	text = strings.TrimPrefix(text, "\ufeff")
	switch format {
	case List:
		return eachLine(text, yield)
	case OPML:
		return eachOutline(text, yield)
	case Urlwatch:
		return eachJob(text, yield)
	case Changedetection:
		return eachWatch(text, yield)
	}
	return fmt.Errorf("%q is not a format; use list, opml, urlwatch or changedetection", format)
}

func eachLine(text string, yield func(Entry) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := yield(Entry{Line: n, Source: client.NewSource{URL: Complete(fields[0]), Tags: tagsOf(fields[1:])}}); err != nil {
			return err
		}
	}
	return nil
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
