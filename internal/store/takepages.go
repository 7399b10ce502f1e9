package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

const (
	addAtOnce  = 1000 // pages put on a shelf in one transaction
	takeAtOnce = 200  // pages made sources in one
)

// A foundPage is a page with where it belongs.
type foundPage struct {
	freshet.Page
	hash int64
}

// AddPages implements [freshet.Shelf]. It works in many transactions, so that polls go
// on beside it. If it is cut off, the pages up to there are on the shelf.
func (s *Store) AddPages(ctx context.Context, site freshet.SourceID, pages []freshet.Page) (added, over int, err error) {
	all := make([]foundPage, len(pages))
	for i, p := range pages {
		if err := checkPage(p); err != nil {
			return 0, 0, err
		}
		if p.Seen.IsZero() {
			p.Seen = s.cfg.Now()
		}
		all[i] = foundPage{p, pageHash(p.URL)}
	}
	sh, err := s.shelfOf(ctx, site)
	if err != nil {
		return 0, 0, err
	}
	if site := sh.site.Site; site != nil && sh.count.Known()+len(all) <= site.Pages() {
		// In the order of the table they go fast, and take less room. Where not all
		// may have room, those that come first do.
		slices.SortStableFunc(all, func(a, b foundPage) int { return cmp.Compare(a.hash, b.hash) })
	}
	for some := range slices.Chunk(all, addAtOnce) {
		var n, left int
		err := s.write(ctx, "adding pages of site "+string(site), func(b *batch) (err error) {
			n, left, err = b.addPages(site, some)
			return err
		})
		if err != nil {
			return added, over, err
		}
		added, over = added+n, over+left
	}
	return added, over, nil
}

// checkPage refuses what cannot be a page of a site.
func checkPage(p freshet.Page) error {
	switch {
	case p.URL == "":
		return &freshet.InvalidError{Field: "url", Reason: "a page needs one"}
	case !slices.Contains(pageWays, p.Found):
		return &freshet.InvalidError{Field: "found", Reason: fmt.Sprintf("%.40q is not one of sitemaps, feeds and links", p.Found)}
	case p.Depth < 0:
		return &freshet.InvalidError{Field: "depth", Reason: fmt.Sprintf("%d is below 0", p.Depth)}
	}
	return nil
}

// addPages puts pages on the shelf of a site.
func (b *batch) addPages(site freshet.SourceID, pages []foundPage) (added, over int, err error) {
	sh, err := b.openShelf(site)
	if err != nil {
		return 0, 0, err
	}
	most := sh.site.Site.Pages()
	for _, p := range pages {
		r, known, err := b.findPage(sh, p.URL, p.hash)
		switch {
		case err != nil:
			return 0, 0, err
		case known:
			before := r
			if r.heed(p.Page); r != before {
				err = b.putPage(sh, &before, &r)
			}
		case sh.count.Known() >= most:
			over++
		default:
			added++
			r.found, r.depth, r.seen = int64(slices.Index(pageWays, p.Found)), int64(p.Depth), second(p.Seen)
			r.date, r.listed, r.gone = second(p.Date), second(p.Listed), second(p.Gone)
			if p.New {
				r.flags |= pageNew
			}
			err = b.insertPage(sh, &r)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return added, over, nil
}

// second returns a time as it is stored with a page.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// heed takes over what an index says of a page that is known.
func (r *pageRow) heed(p freshet.Page) {
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
	if p.New && r.is(freshet.PageGone) {
		r.become(freshet.PageWaiting)
	}
}

// TakePages implements [freshet.Shelf]. If it is cut off it returns those that are
// sources by then, with the error.
func (s *Store) TakePages(ctx context.Context, site freshet.SourceID, n int) (taken []freshet.Source, err error) {
	now := s.cfg.Now()
	for more := true; more && len(taken) < n; {
		var some []freshet.Source
		err := s.write(ctx, "taking pages of site "+string(site), func(b *batch) (err error) {
			some, more, err = b.takePages(site, min(n-len(taken), takeAtOnce), now)
			return err
		})
		if err != nil {
			return taken, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

// selectWaiting finds the waiting pages of a site: the nearest first, and of those in the
// order that was drawn. SQLite would go through all pages in their order.
var selectWaiting = pagesTable.selection + " INDEXED BY pages_waiting WHERE site = ? AND state = 0 ORDER BY depth, hash LIMIT ?"

// takePages makes up to n waiting pages of a site sources, and reports whether more
// may wait.
func (b *batch) takePages(site freshet.SourceID, n int, now time.Time) (taken []freshet.Source, more bool, err error) {
	sh, err := b.openShelf(site)
	if err != nil {
		return nil, false, err
	}
	var waiting []pageRow
	err = b.Query(selectWaiting, []driver.Value{sh.key, int64(n)}, func(v []driver.Value) error {
		r, err := readPage(v)
		waiting = append(waiting, r)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, r := range waiting {
		src, ok, err := b.takePage(sh, r, now)
		if err != nil {
			return nil, false, err
		}
		if ok {
			taken = append(taken, src)
		}
	}
	return taken, len(waiting) == n, nil
}

// takePage makes a waiting page a source, unless another source watches it.
func (b *batch) takePage(sh *shelf, r pageRow, now time.Time) (src freshet.Source, ok bool, err error) {
	id, err := b.pageID(sh, &r)
	if err != nil {
		return src, false, err
	}
	src = sh.site.Page(id, sh.long(r.url))
	src.Created = now
	src, err = b.addSource(tidied(src))
	conflict, covered := errors.AsType[*freshet.ConflictError](err)
	if !covered {
		return src, err == nil, err
	}
	before := r
	r.become(freshet.PageCovered)
	if e := b.entry(id); e != nil && conflict.Existing == id { // the page was lost from the shelf, and its source was not
		r.become(freshet.PageWatched)
		r.source = e.key
	}
	return src, false, b.putPage(sh, &before, &r)
}

// mostSiteLetters is how much of the ID of a site goes into those of its pages.
const mostSiteLetters = 50

// pageID returns the ID under which a page is watched: the one that it had, or one made
// of that of its site and of its place on the shelf.
func (b *batch) pageID(sh *shelf, r *pageRow) (freshet.SourceID, error) {
	var had string
	err := b.Query("SELECT id FROM sources WHERE key = ?", []driver.Value{r.source}, func(v []driver.Value) error {
		had, _ = v[0].(string)
		return nil
	})
	if err != nil || had != "" {
		return freshet.SourceID(had), err
	}
	site := string(sh.site.ID)
	plain := site[:min(len(site), mostSiteLetters)] + "." + letters(r.hash)
	id := freshet.SourceID(plain)
	for n := 2; ; n++ {
		e := b.entry(id)
		if e == nil || e.site == sh.key && e.url == xxhash.Sum64String(sh.long(r.url)) {
			return id, nil
		}
		id = freshet.SourceID(fmt.Sprintf("%s-%d", plain, n))
	}
}

// letters returns a place on a shelf in base 32.
func letters(hash int64) string {
	var text [10]byte
	for i := range text {
		text[len(text)-1-i] = "abcdefghijklmnopqrstuvwxyz234567"[hash>>(5*i)&31]
	}
	return string(text[:])
}
