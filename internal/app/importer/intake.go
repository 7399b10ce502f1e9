package importer

import (
	"encoding/json"
	"fmt"
	"strings"

	"freshet/client"
)

// A Format is a file format of lists of pages.
type Format string

// The formats.
const (
	List            Format = "list"            // a URL on each line, followed by tags
	OPML            Format = "opml"            // exported by feed readers
	Urlwatch        Format = "urlwatch"        // urls.yaml of urlwatch and webchanges
	Changedetection Format = "changedetection" // url-watches.json, or the list of its API
)

// Formats are all formats.
var Formats = []Format{List, OPML, Urlwatch, Changedetection}

// An Entry is one page of a list.
type Entry struct {
	Line   int // line on which it begins; zero if the format has none
	Source client.NewSource
	Notes  []string // what is not imported
	Err    error    // why the entry is invalid
}

// MaxEntries is the largest number of entries that Read accepts.
const MaxEntries = 10_000

// Guess returns the probable format of a text.
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

// Read returns the entries of a list, or an error if the list does not have the format. Invalid
// entries have their own error.
func Read(format Format, text string) (entries []Entry, err error) {
	n := 0
	err = Each(format, text, func(e Entry) error {
		if n++; n <= MaxEntries {
			entries = append(entries, e)
		}
		return nil
	})
	if n > MaxEntries {
		return nil, fmt.Errorf("the list has %d entries; import at most %d at a time", n, MaxEntries)
	}
	return entries, err
}

// Each calls yield for each entry of a list until yield returns an error, which Each returns. It
// does not keep entries in memory, except those of one YAML document of urlwatch.
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

// Complete adds https:// to a URL without a scheme.
func Complete(url string) string {
	if scheme, _, ok := strings.Cut(url, ":"); ok && !strings.Contains(scheme, ".") && !strings.Contains(scheme, "/") && scheme != "localhost" {
		return url
	}
	return "https://" + url
}

// tagsOf returns names as valid tags.
func tagsOf(names []string) (tags []string) {
	for _, name := range names {
		name = strings.Trim(strings.TrimSpace(name), ",#")
		if name != "" {
			tags = append(tags, strings.Join(strings.Fields(name), "-"))
		}
	}
	return tags
}
