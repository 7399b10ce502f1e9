package ui_test

import (
	"fmt"
	"testing"
)

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
		for _, ask := range questions {
			b.await(fmt.Sprintf("(document.querySelector('#search').value = %q, document.querySelector('#search').dispatchEvent(new Event('input')), document.querySelector('#results a')?.href.endsWith(%q))", ask.question, ask.answer))
		}
		b.accessible("search")
	}
}

// questions are what people ask, and the section that search has to name first.
var questions = []struct{ question, answer string }{
	{"how do I get an e-mail when a word appears?", "how-to/alerts.html#an-e-mail-when-a-word-appears"},
	{"what happens when my disk is full?", "how-to/running.html#when-the-disk-is-full"},
	{"how do I move from urlwatch?", "how-to/import.html#from-urlwatch"},
	{"price drop to Telegram", "how-to/alerts.html#a-price-falls-to-telegram"},
	{"a page behind a login", "how-to/difficult-pages.html#a-page-behind-a-login"},
	{"the page needs JavaScript", "how-to/difficult-pages.html#a-page-that-needs-javascript"},
	{"why was this change not reported?", "how-to/difficult-pages.html#a-change-was-not-reported"},
	{"run it from cron", "how-to/running.html#from-cron-without-a-daemon"},
	{"back up and restore", "how-to/moving-out.html#backup-and-restore"},
	{"which exit codes are there?", "reference/configuration.html#exit-codes"},
}
