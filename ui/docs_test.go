package ui_test

import "testing"

// The documentation at /docs/ fits a screen and a phone, and has no barrier.
func TestDocumentation(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	for _, b := range []*tab{r.tab(1280, 900, "light"), r.tab(390, 844, "dark")} {
		for _, page := range []string{"index", "how-to/alerts", "reference/queries"} {
			b.visit("/docs/"+page+".html", "document.documentElement.classList.contains('script')")
			b.accessible(page)
			b.clean(page)
		}
		b.visit("/docs/", "document.documentElement.classList.contains('script')")
		eval[bool](b, "(document.querySelector('#search').value = 'move from urlwatch', document.querySelector('#search').dispatchEvent(new Event('input')), true)")
		b.await("document.querySelector('#results a')?.href.includes('how-to/import')")
		b.accessible("search")
	}
}
