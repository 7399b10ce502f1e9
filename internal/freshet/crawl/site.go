// Package crawl defines the settings of a site and the states of its pages.
package crawl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"freshet/internal/invalid"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// Settings make a source stand for a whole site: the pages found from it are watched too,
// each as a source of its own. The other settings of the source (request, recipe, weight,
// tags) hold for all pages unless a page overrides them.
//
// The URL of the source is where the site begins: a page whose links are followed, a
// sitemap, or a feed.
type Settings struct {
	Match   []string   `json:"match,omitempty"`   // patterns of paths, such as /guide/**; a page has to match one; none means all below the URL
	Exclude []string   `json:"exclude,omitempty"` // patterns of paths that are left out
	Find    []FoundBy  `json:"find,omitempty"`    // the ways in which pages are found; none means all
	Limit   int        `json:"limit,omitempty"`   // most pages; 0 means DefaultLimit
	Depth   int        `json:"depth,omitempty"`   // most links from the first page to another; 0 means DefaultDepth
	Domains bool       `json:"subdomains,omitempty"`
	Share   Percentage `json:"share,omitempty"` // most of the budget that it takes, such as "30%"; 0 means DefaultShare
}

// Defaults and bounds.
const (
	DefaultLimit            = 10_000
	DefaultDepth            = 10
	DefaultShare Percentage = 0.5

	// MaxPages is the most pages that a site can be allowed.
	MaxPages = 5_000_000
)

// Pages returns the most pages of the site, with the default filled in.
func (s Settings) Pages() int {
	if s.Limit == 0 {
		return DefaultLimit
	}
	return s.Limit
}

// Links returns the most links from the first page to another, with the default
// filled in.
func (s Settings) Links() int {
	if s.Depth == 0 {
		return DefaultDepth
	}
	return s.Depth
}

// Portion returns the most of the budget that the site takes, with the default filled
// in.
func (s Settings) Portion() float64 {
	if s.Share == 0 {
		return float64(DefaultShare)
	}
	return float64(s.Share)
}

// Finds reports whether pages of the site are found in a way.
func (s Settings) Finds(by FoundBy) bool { return len(s.Find) == 0 || slices.Contains(s.Find, by) }

// A Percentage is a part of a whole, above 0 and up to 1. As JSON it is a text such as
// "30%".
type Percentage float64

// MarshalJSON returns the part as a text.
func (p Percentage) MarshalJSON() ([]byte, error) { return json.Marshal(units.FormatShare(float64(p))) }

// UnmarshalJSON reads a text such as "30%".
func (p *Percentage) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return fmt.Errorf("expected a part such as \"30%%\", but found: %.40s", text)
	}
	x, err := units.ParseShare(s)
	if err == nil {
		*p = Percentage(x)
	}
	return err
}

// plainSite has the fields of Settings without its methods.
type plainSite Settings

// MarshalJSON returns the site as an object, or true if all of it is the default.
func (s Settings) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(plainSite(s))
	if string(text) == "{}" {
		text = []byte("true")
	}
	return text, err
}

// UnmarshalJSON reads true, or an object.
func (s *Settings) UnmarshalJSON(text []byte) error {
	*s = Settings{}
	switch t := string(bytes.TrimSpace(text)); {
	case t == "true":
		return nil
	case !strings.HasPrefix(t, "{"):
		return fmt.Errorf("expected true or keys and values, but found: %.40s", t)
	}
	plain, err := strictjson.Parse[plainSite](string(text))
	if err == nil {
		*s = Settings(plain)
	}
	return err
}

// Check returns an *invalid.Error if a value is out of bounds. Package sites checks the patterns.
func (s Settings) Check() error {
	switch {
	case s.Limit < 0 || s.Limit > MaxPages:
		return invalid.Errorf("site.limit", "%d is not a number of pages from 1 to %d", s.Limit, MaxPages)
	case s.Depth < 0 || s.Depth > 100:
		return invalid.Errorf("site.depth", "%d is not a number of links from 1 to 100", s.Depth)
	default:
		for _, by := range s.Find {
			if !slices.Contains(ways, by) {
				return invalid.Errorf("site.find", "%.40q is not one of sitemaps, feeds and links", by)
			}
		}
	}
	return nil
}
