package freshet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// A Site says that a source stands for a whole site: the pages that are found from it
// are watched too, each as a source of its own. What is said of the source otherwise
// (how it is asked for, how it is read, what it is worth, its tags) holds for all of
// them, unless something else is said of one.
//
// The URL of the source is where the site begins: a page whose links are followed, a
// sitemap, or a feed.
type Site struct {
	Match   []string   `json:"match,omitempty"`   // patterns of paths, such as /guide/**; a page has to match one; none means all below the URL
	Exclude []string   `json:"exclude,omitempty"` // patterns of paths that are left out
	Find    []FoundBy  `json:"find,omitempty"`    // the ways in which pages are found; none means all
	Limit   int        `json:"limit,omitempty"`   // most pages; 0 means DefaultSiteLimit
	Depth   int        `json:"depth,omitempty"`   // most links from the first page to another; 0 means DefaultSiteDepth
	Domains bool       `json:"subdomains,omitempty"`
	Share   Percentage `json:"share,omitempty"` // most of the budget that it takes, such as "30%"; 0 means DefaultSiteShare
}

// What holds for a site of which nothing else is said.
const (
	DefaultSiteLimit            = 10_000
	DefaultSiteDepth            = 10
	DefaultSiteShare Percentage = 0.5

	maxSiteID = 40 // bytes

	// MostSitePages is the most pages that a site can be allowed.
	MostSitePages = 5_000_000
)

// Pages returns the most pages of the site, with the default filled in.
func (s Site) Pages() int {
	if s.Limit == 0 {
		return DefaultSiteLimit
	}
	return s.Limit
}

// Links returns the most links from the first page to another, with the default
// filled in.
func (s Site) Links() int {
	if s.Depth == 0 {
		return DefaultSiteDepth
	}
	return s.Depth
}

// Portion returns the most of the budget that the site takes, with the default filled
// in.
func (s Site) Portion() float64 {
	if s.Share == 0 {
		return float64(DefaultSiteShare)
	}
	return float64(s.Share)
}

// Finds reports whether pages of the site are found in a way.
func (s Site) Finds(by FoundBy) bool { return len(s.Find) == 0 || slices.Contains(s.Find, by) }

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

// plainSite is a Site as an object.
type plainSite Site

// MarshalJSON returns the site as an object, or true if all of it is the default.
func (s Site) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(plainSite(s))
	if string(text) == "{}" {
		text = []byte("true")
	}
	return text, err
}

// UnmarshalJSON reads true, or an object.
func (s *Site) UnmarshalJSON(text []byte) error {
	*s = Site{}
	switch t := string(bytes.TrimSpace(text)); {
	case t == "true":
		return nil
	case !strings.HasPrefix(t, "{"):
		return fmt.Errorf("expected true or keys and values, but found: %.40s", t)
	}
	plain, err := ParseJSON[plainSite](string(text))
	if err == nil {
		*s = Site(plain)
	}
	return err
}

// Page returns the source of a page of a site before anything is said of the page
// itself. It has the settings of the site.
func (s Source) Page(id SourceID, pageURL string) Source {
	p := s
	p.ID, p.URL, p.Name, p.Of = id, pageURL, "", s.ID
	p.Site, p.Index, p.Revision = nil, false, 0
	p.Origin, p.Created = FromSite, time.Time{}
	return p
}

// checkSite judges what is said of a site. Patterns are for package sites to judge.
func (s *Source) checkSite() error {
	if s.Of != "" && s.Site != nil {
		return invalid.Errorf("site", "a page of a site cannot be a site itself")
	}
	if s.Site == nil {
		return nil
	}
	if u, err := url.Parse(s.URL); err != nil || MediumOf(s.URL) != OnWeb || u.Host == "" {
		return invalid.Errorf("site", "a site begins at an http or https URL")
	}
	switch site := s.Site; {
	case len(s.ID) > maxSiteID:
		return invalid.Errorf("id", "the id of a site is at most %d characters long: its pages have it in theirs", maxSiteID)
	case site.Limit < 0 || site.Limit > MostSitePages:
		return invalid.Errorf("site.limit", "%d is not a number of pages from 1 to %d", site.Limit, MostSitePages)
	case site.Depth < 0 || site.Depth > 100:
		return invalid.Errorf("site.depth", "%d is not a number of links from 1 to 100", site.Depth)
	default:
		for _, by := range site.Find {
			if !slices.Contains(ways, by) {
				return invalid.Errorf("site.find", "%.40q is not one of sitemaps, feeds and links", by)
			}
		}
	}
	return nil
}
