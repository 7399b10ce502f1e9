package sitemap_test

import (
	"fmt"
	"strings"

	"freshet/internal/sites/sitemap"
)

func ExampleRead() {
	const list = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>/about</loc><lastmod>2026-1-5</lastmod></url>
<url><loc>https://example.com/news?a=1&b=2</loc>
`
	s, err := sitemap.Read(strings.NewReader(list), sitemap.Options{Base: "https://example.com/sitemap.xml"}, func(e sitemap.Entry) error {
		fmt.Println(e.URL, e.LastMod)
		return nil
	})
	fmt.Println(s.Kind, s.Pages, s.Complete, err)
	for _, p := range s.Problems {
		fmt.Printf("line %d: %s\n", p.Line, p.Text)
	}
	// Output:
	// https://example.com/about 2026-01-05
	// urlset 1 false <nil>
	// line 2: "/about" is relative
	// line 4: it breaks off: the end of the document is missing
}
