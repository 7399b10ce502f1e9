// Package evidence defines what sources say about changes: an index such as a sitemap about other
// pages, and a source about its own next change. It is evidence, not truth: the learner finds out
// how far each is right.
package evidence

import (
	"slices"
	"time"

	"freshet/internal/freshet/crawl"
	"freshet/internal/units"
)

// MaxDates is the number of past update dates that one poll reports of a source. More
// add little information.
const MaxDates = 8

// An IndexHint is what an index reports about other pages when it is polled. An index is a
// source that covers many pages: a sitemap dates them, a feed lists the latest, a hub page
// links to new ones.
//
// A hint lists only pages whose entry differs from the previous poll of the index. All other
// pages that the index has named are, if it is right, unchanged since From. So a hint grows
// with the changes of an index, not with its length. A poll that finds the index unchanged
// has no hint and confirms all its pages.
type IndexHint struct {
	Kind IndexKind

	// From is the time since which the index is complete: it would list a page that
	// changed later. It is zero for an index that was read to its end, such as a sitemap,
	// and the date of the oldest entry for a list of the latest pages. It lies after the
	// poll if the index says nothing about pages that it does not list: see SilentFrom.
	// It also holds for polls that find the index unchanged.
	From time.Time

	Pages []PageHint // each at most once

	// Claims are the changefreq values that differ from the previous poll of a sitemap;
	// each page at most once.
	Claims []PageClaim
}

// A PageClaim is the changefreq that a sitemap gives for a page. A Learner pools pages with
// the same claim and learns how far it is right.
type PageClaim struct {
	Page crawl.PageKey
	Freq ChangeFreq // zero if the sitemap no longer gives one
}

// A ChangeFreq is a changefreq value of the sitemap protocol. Zero means that none is given.
type ChangeFreq uint8

// ChangeFreqs is the number of values, zero included.
const ChangeFreqs = 8

var changeFreqs = [...]string{"", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// ParseChangeFreq reads a changefreq. It returns zero for an unknown value.
func ParseChangeFreq(text string) ChangeFreq {
	return ChangeFreq(max(0, slices.Index(changeFreqs[:], text)))
}

// String returns the value as sitemaps write it; "" for zero.
func (f ChangeFreq) String() string { return units.NameOf(changeFreqs[:], int(f)) }

// SilentFrom is the From of an index that says nothing about pages that it does not list: a
// hub page, or a list that was not read to its end. It lies after all polls.
func SilentFrom() time.Time { return time.Unix(1<<33, 0).UTC() }

// A PageHint is what an index reports about one page.
type PageHint struct {
	Page crawl.PageKey

	// Date is when the page last changed, according to the index. Zero means that the index
	// gives no date: the page, or a link to it, is new.
	Date time.Time

	// Gone means that the index no longer lists the page.
	Gone bool
}

// An IndexKind is a kind of index.
type IndexKind uint8

// The kinds of index.
const (
	SitemapIndex IndexKind = iota // a list of all pages, with dates
	FeedIndex                     // a list of the latest news, with dates
	HubIndex                      // a page with links, without dates
)

// IndexKinds is the number of kinds.
const IndexKinds = 3

var indexKinds = [...]string{"sitemap", "feed", "hub"}

// String returns the kind in a word.
func (k IndexKind) String() string { return units.NameOf(indexKinds[:], int(k)) }

// Shifted returns the hint with all times moved by a duration.
func (w IndexHint) Shifted(by time.Duration) *IndexHint {
	if !w.From.IsZero() {
		w.From = w.From.Add(by)
	}
	w.Pages = slices.Clone(w.Pages)
	for i, p := range w.Pages {
		if !p.Date.IsZero() {
			w.Pages[i].Date = p.Date.Add(by)
		}
	}
	return &w
}
