package extract

import (
	"bytes"
	"encoding/xml"
	"time"

	"freshet/internal/dates"
)

// maxSitemap is how much of a sitemap is looked through for dates: as many bytes
// as the protocol allows one to have.
const maxSitemap = 50 << 20

// newestOnSitemap returns the newest date of change on a sitemap that was sent at
// answered, zero if src is no sitemap or has none. Sites stamp a whole sitemap
// when they build it, but the dates on it are those of its pages.
func newestOnSitemap(src []byte, answered time.Time) (newest time.Time) {
	if !looksLikeSitemap(src) {
		return newest
	}
	d := xml.NewDecoder(bytes.NewReader(src[:min(len(src), maxSitemap)]))
	d.Strict = false
	inside := false
	for {
		token, err := d.RawToken()
		if err != nil { // the end, or what is not XML: what has been found will do
			return newest
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "lastmod"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if !inside {
				continue
			}
			// A date without a time of day says too little about when.
			d, ok := dates.Parse(t)
			if at := d.Time.UTC(); ok && d.Precision > dates.Day && d.Zoned && (feedTime{at, true}).plausible(answered) && at.After(newest) {
				newest = at
			}
		}
	}
}

// looksLikeSitemap reports whether the first element is that of a sitemap or of
// an index of sitemaps.
func looksLikeSitemap(src []byte) bool {
	head := src[:min(len(src), 1024)]
	return bytes.Contains(head, []byte("<urlset")) || bytes.Contains(head, []byte("<sitemapindex"))
}
