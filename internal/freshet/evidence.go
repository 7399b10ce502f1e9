package freshet

import (
	"slices"
	"time"
)

// MostDates is how many dates of its own a source is heard with at one poll. More say
// hardly anything more of when it changes.
const MostDates = 8

// A Word is what an index says of other pages when it is polled. An index is a source
// that shows many pages at once: a sitemap dates them, a feed has their latest news, a
// hub page links to what is new.
//
// A Word names only pages of which the index says something else than when it was last
// seen. All others that it has ever named are as they were, if it can be believed, from
// From on: an index costs what changes in it, and not its length. A poll that finds an
// index unchanged has no Word, and says the same of all its pages.
type Word struct {
	Kind IndexKind

	// From is since when nothing is kept quiet: a page that had changed after it would
	// be named. It is zero if that is so for all time, as with a sitemap that was read to
	// its end. For a list of what is latest it is the date of its oldest entry. It lies
	// after the poll if the index says nothing of pages that it does not name: see
	// SilentFrom. It holds for polls that find the index unchanged, too.
	From time.Time

	Pages []PageWord // each at most once

	// Claims are how often pages change by a sitemap, where it says otherwise than when it
	// was last seen; each page at most once.
	Claims []PageClaim
}

// A PageClaim is how often a page changes by a sitemap. It is evidence: a Learner finds out
// what pages have in common of which the same is said.
type PageClaim struct {
	Page PageKey
	Freq ChangeFreq // the zero ChangeFreq if the sitemap does not say any more
}

// A ChangeFreq is how often a page changes, in the words of sitemaps. The zero ChangeFreq
// says nothing.
type ChangeFreq uint8

// ChangeFreqs is how many there are, with the one that says nothing.
const ChangeFreqs = 8

var changeFreqs = [...]string{"", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// ParseChangeFreq reads a changefreq. What is none says nothing.
func ParseChangeFreq(text string) ChangeFreq {
	return ChangeFreq(max(0, slices.Index(changeFreqs[:], text)))
}

// String returns the word of a sitemap; "" for the zero ChangeFreq.
func (f ChangeFreq) String() string { return nameOf(changeFreqs[:], int(f)) }

// SilentFrom is the From of an index that says nothing of the pages that it does not name:
// a page with links, or a list that was not read to its end. It lies after all polls.
func SilentFrom() time.Time { return time.Unix(1<<33, 0).UTC() }

// A PageWord is what an index says of one page.
type PageWord struct {
	Page PageKey

	// Date is when the page last changed by the index. It is zero if the index does not
	// say: then the page, or a link to it, is there that was not there before.
	Date time.Time

	// Gone says that the index does not list the page any more. It does not speak for
	// it from here on.
	Gone bool
}

// An IndexKind says what kind of index a Word comes from.
type IndexKind uint8

// The kinds of index.
const (
	SitemapIndex IndexKind = iota // a list of all pages, with dates
	FeedIndex                     // a list of the latest news, with dates
	HubIndex                      // a page with links, without dates
)

// IndexKinds is how many kinds of index there are.
const IndexKinds = 3

var indexKinds = [...]string{"sitemap", "feed", "hub"}

// String returns the kind in a word.
func (k IndexKind) String() string { return nameOf(indexKinds[:], int(k)) }

// A Hearsay is what an index says of a page, and how far that has been true. The zero
// Hearsay says nothing: one that says something has a date.
type Hearsay struct {
	Index Slot // which source says it
	Kind  IndexKind

	// Dated is when the page has changed by the index, if it was not polled since; zero
	// if it is not said to have changed. Until is up to when it is said to be as it was
	// when it was last seen, if it is not said to have changed.
	Dated, Until time.Time

	// Of Times polls that what the index said could be held against, it was true of
	// Right. What is long past counts for less.
	Right, Times float64
}
