package extract_test

import (
	"net/http"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// The newest date on a sitemap is when the site last changed; dates of the
// future, without a time of day, or in anything but a sitemap say nothing.
func TestSitemapDates(t *testing.T) {
	tests := []struct {
		name, body string
		want       string
	}{
		{"the newest", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://a.example/1</loc><lastmod>2026-03-01T10:00:00+02:00</lastmod></url>
<url><loc>https://a.example/2</loc><lastmod> 2026-03-02T11:30Z </lastmod></url>
<url><loc>https://a.example/3</loc><lastmod>2026-02-01T00:00:00Z</lastmod></url></urlset>`, "2026-03-02T11:30:00Z"},
		{"an index", `<sitemapindex><sitemap><loc>https://a.example/s.xml</loc><lastmod>2026-03-01T10:00:00.5Z</lastmod></sitemap></sitemapindex>`, "2026-03-01T10:00:00.5Z"},
		{"days and the future", `<urlset><url><lastmod>2026-03-04</lastmod></url><url><lastmod>2030-01-01T00:00:00Z</lastmod></url></urlset>`, ""},
		{"broken off", `<urlset><url><lastmod>2026-03-01T10:00:00Z</lastmod></url><url><lastmod>2026-03-`, "2026-03-01T10:00:00Z"},
		{"no sitemap", `<root><lastmod>2026-03-01T10:00:00Z</lastmod></root>`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rd, err := extract.Extract(reading.Recipe{}, freshet.Response{
				MediaType: "application/xml", Body: []byte(tt.body),
				Header: http.Header{"Date": {"Thu, 05 Mar 2026 12:00:00 GMT"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if !rd.Modified.IsZero() {
				got = rd.Modified.Format(time.RFC3339Nano)
			}
			if got != tt.want || rd.Kind != reading.Text {
				t.Errorf("read as %s of %q, want text of %q", rd.Kind, got, tt.want)
			}
		})
	}
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte(`<urlset><url><lastmod>2026-03-01T10:00:00Z</lastmod></url></urlset>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rd, err := extract.Extract(reading.Recipe{Kind: reading.Text}, freshet.Response{MediaType: "text/xml", Body: body})
		if err == nil && rd.Modified.Year() > 9999 {
			t.Errorf("a date in the year %d", rd.Modified.Year())
		}
	})
}
