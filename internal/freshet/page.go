package freshet

import (
	"context"
	"iter"
	"time"
)

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

// A Page is one page of a site that is known: found, but not necessarily fetched. It
// costs little until it is. Its times are kept to the second.
type Page struct {
	URL    string
	Found  FoundBy
	Depth  int       // links from the first page of the site; 0 if an index lists it
	Date   time.Time // that an index gives it; zero if none does
	Listed time.Time // since when an index has listed it; zero if none does
	Gone   time.Time // since when no index lists it any more; zero if one does, or none ever did
	Seen   time.Time // when it was first found; set by the store if it is zero
	New    bool      // it came to the site after the site was known: its first capture is told as a change

	State  PageState
	Source SourceID // that watches it, or did; "" if none ever did
}

// PageCounts count the pages of a site by what became of them.
type PageCounts struct {
	Waiting, Watched, Gone, Refused, Covered int

	Sitemaps, Feeds, Links int // by how they were found
}

// Known returns how many pages there are.
func (c PageCounts) Known() int { return c.Waiting + c.Watched + c.Gone + c.Refused + c.Covered }

// A PageQuery selects pages of a site.
type PageQuery struct {
	State PageState // "" means all
	After string    // only those that come after the page with this URL
	Limit int       // 0 means all
}

// A PageEvent says what happened to a page of a site as a whole.
type PageEvent string

// What can happen to a page.
const (
	PageCame PageEvent = "new"  // it came to the site
	PageWent PageEvent = "gone" // it is not there any more
	PageBack PageEvent = "back" // it is there again
)

// A Shelf keeps the pages of sites that are known. Most of them wait there: only when
// a page is taken off the shelf does it become a source. A page is known under one
// normalised URL.
type Shelf interface {
	// AddPages puts pages of a site on the shelf and returns how many of them were not
	// known before. Of those that were, what an index says is brought up to date: a Date
	// that is given, the first Gone since it was Listed, and the first Listed since it
	// was Gone. The rest stays as it is, but that one that is gone and is found New waits
	// again. No more are put there than the limit of the site allows: the rest is left
	// out, and counted in over. If it is cut off, those up to there are on the shelf.
	AddPages(ctx context.Context, site SourceID, pages []Page) (added, over int, err error)

	// TakePages makes up to n waiting pages of a site sources, and returns them: those
	// that are fewest links away first, and of these in an order that is drawn by chance
	// once for all, so that of what an index lists the first are a fair sample. A page
	// that another source watches in the same way becomes covered instead. One that was
	// watched before takes up its history. With an error come those that are sources by
	// then.
	TakePages(ctx context.Context, site SourceID, n int) ([]Source, error)

	// SetPage says what becomes of a page. Its source, if it is watched, is removed, its
	// history kept. A page that is set waiting can be taken again. Only TakePages and
	// AddSource have a page watched.
	SetPage(ctx context.Context, site SourceID, url string, state PageState) error

	// Announce tells a change of a page as a whole that a source watches, or watched,
	// at a moment. PageWent removes the source, and the page is gone. PageBack is told of
	// one that was told to be gone and is watched again. PageCame is told only of a page
	// that is New, and no longer is then. What has been told already, or has not
	// happened, is not told: then it returns ErrNotFound.
	Announce(ctx context.Context, id SourceID, e PageEvent, at time.Time, summary string) (Change, error)

	// Page returns one page of a site by its URL, or ErrNotFound.
	Page(ctx context.Context, site SourceID, url string) (Page, error)

	// Pages yields pages of a site, in the order in which they would be taken.
	Pages(ctx context.Context, site SourceID, q PageQuery) iter.Seq2[Page, error]

	// CountPages counts the pages of a site.
	CountPages(ctx context.Context, site SourceID) (PageCounts, error)
}
