// Package frontier keeps the pages of sites that are known, in tables of the store. Most pages
// wait there: only when a page is promoted does it become a source.
package frontier

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// A Page is one page of a site that is known: found, but not necessarily fetched. It
// costs little until it is. Its times are kept to the second.
type Page struct {
	URL    string // normalised
	Found  crawl.FoundBy
	Depth  int       // links from the first page of the site; 0 if an index lists it
	Date   time.Time // that an index gives it; zero if none does
	Listed time.Time // since when an index has listed it; zero if none does
	Gone   time.Time // since when no index lists it any more; zero if one does, or none ever did
	Seen   time.Time // when it was first found; set by the store if it is zero
	New    bool      // it came to the site after the site was known: its first capture is a change

	State  crawl.PageState
	Source freshet.SourceID // that watches it, or did; "" if none ever did
	Place  int64            // in the order of the site; set by the store
}

// Counts count the pages of a site by their states, and by how they were found.
type Counts struct {
	Waiting, Watched, Gone, Refused, Covered int

	Sitemaps, Feeds, Links int
}

// Known returns how many pages there are.
func (c Counts) Known() int { return c.Waiting + c.Watched + c.Gone + c.Refused + c.Covered }

// A Query selects pages of a site.
type Query struct {
	State crawl.PageState // "" means all
	After int64           // only those that come after this place; 0 means from the first one
	Limit int             // 0 means all
}

// The states and ways of finding of pages, by their numbers in the table.
var (
	states = []crawl.PageState{crawl.PageWaiting, crawl.PageWatched, crawl.PageGone, crawl.PageRefused, crawl.PageCovered}
	ways   = []crawl.FoundBy{crawl.BySitemap, crawl.ByFeed, crawl.ByLink}
)

// The flags of a page.
const (
	flagNew  = 1 << iota // it came to the site after the site was known
	flagWent             // a change says that it is gone, and none since that it is back
)

// hashBits is how many bits the hash of a page has: as many as fit into six bytes of
// SQLite, which hold apart the pages of a site, and the ten letters of an ID.
const hashBits = 47

// hashOf returns the place of a page in the order of its site. A site cannot choose URLs that
// all have one place.
func hashOf(url string) int64 {
	sum := sha256.Sum256([]byte(url))
	return int64(binary.BigEndian.Uint64(sum[:]) >> (64 - hashBits))
}

// nextHash returns the place after another.
func nextHash(hash int64) int64 { return (hash + 1) & (1<<hashBits - 1) }

// A row is the row of a page.
type row struct {
	site, hash   int64
	url          string // without the base of the site
	state, found int64
	depth, flags int64
	seen         time.Time
	date         time.Time
	listed, gone time.Time
	source       int64
}

// values returns the row in the order of the columns.
func (r *row) values() []driver.Value {
	after := func(t time.Time) driver.Value {
		if t.IsZero() {
			return nil
		}
		return t.Unix() - r.seen.Unix()
	}
	var date driver.Value
	if !r.date.IsZero() {
		date = r.date.Unix()
	}
	return []driver.Value{r.site, r.hash, r.url, r.state, r.found, r.depth, r.flags, r.seen.Unix(), date, after(r.listed), after(r.gone), store.CountOrNull(r.source)}
}

// readRow reads what values returned.
func readRow[V any](v []V) (r row, err error) {
	whole := func(i int) (n int64) { n, _ = any(v[i]).(int64); return n }
	at := func(i int, from int64) time.Time {
		if n, ok := any(v[i]).(int64); ok {
			return time.Unix(from+n, 0).UTC()
		}
		return time.Time{}
	}
	url, _ := any(v[2]).(string)
	seen := whole(7)
	r = row{
		site: whole(0), hash: whole(1), url: url, state: whole(3), found: whole(4), depth: whole(5), flags: whole(6),
		seen: at(7, 0), date: at(8, 0), listed: at(9, seen), gone: at(10, seen), source: whole(11),
	}
	if r.state < 0 || r.state >= int64(len(states)) || r.found < 0 || r.found >= int64(len(ways)) {
		return r, fmt.Errorf("%w: a page of a site has state %d and was found in way %d", freshet.ErrDamaged, r.state, r.found)
	}
	return r, nil
}

// is reports whether the page has a state.
func (r *row) is(state crawl.PageState) bool { return states[r.state] == state }

// become gives the page a state.
func (r *row) become(state crawl.PageState) { r.state = int64(slices.Index(states, state)) }

// second returns a time as it is stored with a page.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// update brings a known page up to date with what an index says of it.
func (r *row) update(p Page) {
	if !p.Date.IsZero() {
		r.date = second(p.Date)
	}
	switch {
	case !p.Gone.IsZero():
		if r.gone.IsZero() {
			r.gone = second(p.Gone)
		}
	case !p.Listed.IsZero():
		if r.listed.IsZero() || !r.gone.IsZero() {
			r.listed, r.gone = second(p.Listed), time.Time{}
		}
	}
	if p.New && r.is(crawl.PageGone) {
		r.become(crawl.PageWaiting)
	}
}

// announce records an event of a page. It reports whether the event has happened and was not
// announced before.
func (r *row) announce(e crawl.PageEvent) (news bool, err error) {
	switch e {
	case crawl.PageCame:
		news = r.flags&flagNew != 0
		r.flags &^= flagNew
	case crawl.PageWent:
		news = r.is(crawl.PageWatched)
		r.become(crawl.PageGone)
		r.flags |= flagWent
	case crawl.PageBack:
		news = r.is(crawl.PageWatched) && r.flags&flagWent != 0
		r.flags &^= flagWent
	default:
		err = &invalid.Error{Field: "page", Reason: fmt.Sprintf("%.40q is not one of new, gone and back", e)}
	}
	return news, err
}

// check refuses what cannot be a page of a site.
func (p Page) check() error {
	switch {
	case p.URL == "":
		return &invalid.Error{Field: "url", Reason: "a page needs one"}
	case !slices.Contains(ways, p.Found):
		return &invalid.Error{Field: "found", Reason: fmt.Sprintf("%.40q is not one of sitemaps, feeds and links", p.Found)}
	case p.Depth < 0:
		return &invalid.Error{Field: "depth", Reason: fmt.Sprintf("%d is below 0", p.Depth)}
	}
	return nil
}
