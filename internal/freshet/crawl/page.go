package crawl

// A FoundBy is a way in which the pages of a site are found.
type FoundBy string

// The ways in which pages are found.
const (
	BySitemap FoundBy = "sitemaps" // a sitemap lists them
	ByFeed    FoundBy = "feeds"    // a feed points to them
	ByLink    FoundBy = "links"    // another page of the site links to them
)

var ways = []FoundBy{BySitemap, ByFeed, ByLink}

// A PageState says what becomes of a page of a site.
type PageState string

// The states of a page.
const (
	PageWaiting PageState = "waiting" // known, and never fetched
	PageWatched PageState = "watched" // a source
	PageGone    PageState = "gone"    // it was watched, and is not there any more
	PageRefused PageState = "refused" // the site's robots.txt, or the page itself, does not want it fetched
	PageCovered PageState = "covered" // another source watches it, or another page is the same
)

// A PageEvent says what happened to a page of a site as a whole.
type PageEvent string

// What can happen to a page.
const (
	PageCame PageEvent = "new"  // it came to the site
	PageWent PageEvent = "gone" // it is not there any more
	PageBack PageEvent = "back" // it is there again
)
