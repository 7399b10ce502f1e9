package frontier

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// A Store keeps the pages of sites that are known. A page is known under one normalised URL.
type Store struct{ db *store.DB }

// NewStore returns the store in a database.
func NewStore(db *store.DB) *Store { return &Store{db} }

const (
	addAtOnce     = 1000 // pages added in one transaction
	promoteAtOnce = 200  // pages made sources in one
	readAtOnce    = 500
)

// A foundPage is a page with its place.
type foundPage struct {
	Page
	hash int64
}

// AddPages adds pages of a site and returns how many of them were not known before. Of those
// that were, what an index says is brought up to date: a Date that is given, the first Gone since it
// was Listed, and the first Listed since it was Gone. The rest stays as it is, but that one that is
// gone and is found New waits again. Pages above the limit of the site are left out and counted in
// over.
//
// It works in many transactions, so that polls continue beside it. If it is interrupted, the pages up
// to there are known.
func (s *Store) AddPages(ctx context.Context, id freshet.SourceID, pages []Page) (added, over int, err error) {
	all := make([]foundPage, len(pages))
	for i, p := range pages {
		if err := p.check(); err != nil {
			return 0, 0, err
		}
		if p.Seen.IsZero() {
			p.Seen = s.db.Now()
		}
		all[i] = foundPage{p, hashOf(p.URL)}
	}
	at, err := s.site(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	if at.site != nil && at.count.Known()+len(all) <= at.site.Pages() {
		// In the order of the table they are written fast, and take less room. Where not all
		// may have room, the first ones do.
		slices.SortStableFunc(all, func(a, b foundPage) int { return cmp.Compare(a.hash, b.hash) })
	}
	for some := range slices.Chunk(all, addAtOnce) {
		var n, left int
		err := s.db.Write(ctx, "adding pages of site "+string(id), func(tx *store.Tx) (err error) {
			n, left, err = addPages(tx, id, some)
			return err
		})
		if err != nil {
			return added, over, err
		}
		added, over = added+n, over+left
	}
	return added, over, nil
}

func addPages(tx *store.Tx, id freshet.SourceID, pages []foundPage) (added, over int, err error) {
	s, err := openWatched(tx, id)
	if err != nil {
		return 0, 0, err
	}
	most := s.def.Site.Pages()
	for _, p := range pages {
		r, known, err := s.find(p.URL, p.hash)
		switch {
		case err != nil:
			return 0, 0, err
		case known:
			before := r
			r.update(p.Page)
			err = s.replace(before, r)
		case s.count.Known() >= most:
			over++
		default:
			added++
			r.found, r.depth, r.seen = int64(slices.Index(ways, p.Found)), int64(p.Depth), second(p.Seen)
			r.date, r.listed, r.gone = second(p.Date), second(p.Listed), second(p.Gone)
			if p.New {
				r.flags |= flagNew
			}
			err = s.insert(&r)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return added, over, s.close()
}

// PromotePages makes up to n waiting pages of a site sources, and returns them: those that are
// fewest links away first, and of these in an order that is drawn by chance once for all, so that of
// the pages that an index lists the first are a fair sample. A page that another source watches in the
// same way becomes covered instead. A page that was watched before continues its history. With an error
// come those that are sources by then.
func (s *Store) PromotePages(ctx context.Context, id freshet.SourceID, n int) (promoted []freshet.Source, err error) {
	now := s.db.Now()
	for more := true; more && len(promoted) < n; {
		var some []freshet.Source
		err := s.db.Write(ctx, "promoting pages of site "+string(id), func(tx *store.Tx) (err error) {
			some, more, err = promotePages(tx, id, min(n-len(promoted), promoteAtOnce), now)
			return err
		})
		if err != nil {
			return promoted, err
		}
		promoted = append(promoted, some...)
	}
	return promoted, nil
}

// selectWaiting finds the waiting pages of a site: the nearest first, and of those in the
// order that was drawn. SQLite would go through all pages in their order.
const selectWaiting = "SELECT " + columns + " FROM pages INDEXED BY pages_waiting WHERE site = ? AND state = 0 ORDER BY depth, hash LIMIT ?"

func promotePages(tx *store.Tx, id freshet.SourceID, n int, now time.Time) (promoted []freshet.Source, more bool, err error) {
	s, err := openWatched(tx, id)
	if err != nil {
		return nil, false, err
	}
	var waiting []row
	err = tx.Query(selectWaiting, []driver.Value{s.key, int64(n)}, func(v []driver.Value) error {
		r, err := readRow(v)
		waiting = append(waiting, r)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, r := range waiting {
		src, ok, err := s.promote(r, now)
		if err != nil {
			return nil, false, err
		}
		if ok {
			promoted = append(promoted, src)
		}
	}
	return promoted, len(waiting) == n, s.close()
}

// promote makes a waiting page a source, unless another source watches it.
func (s *site) promote(r row, now time.Time) (src freshet.Source, ok bool, err error) {
	id, err := s.pageID(&r)
	if err != nil {
		return src, false, err
	}
	before := r
	src = s.def.Page(id, long(s.base, r.url))
	src.Created = now
	src, err = s.tx.AddSource(src)
	conflict, covered := errors.AsType[*freshet.ConflictError](err)
	switch {
	case err != nil && !covered:
		return src, false, err
	case covered && conflict.Existing != id:
		r.become(crawl.PageCovered)
	default: // or the row of the page was lost, and its source was not
		r.become(crawl.PageWatched)
		r.source, _ = s.tx.SourceKey(id)
	}
	return src, !covered, s.replace(before, r)
}

// mostSiteLetters is how much of the ID of a site goes into those of its pages.
const mostSiteLetters = 50

// pageID returns the ID under which a page is watched: the one that it had, or one made
// of that of its site and of its place.
func (s *site) pageID(r *row) (freshet.SourceID, error) {
	if r.source != 0 {
		had, err := s.tx.Source(r.source)
		if err != nil || had.ID != "" {
			return had.ID, err
		}
	}
	name := string(s.def.ID)
	plain := name[:min(len(name), mostSiteLetters)] + "." + letters(r.hash)
	id := freshet.SourceID(plain)
	for n := 2; ; n++ {
		key, _ := s.tx.SourceKey(id)
		if key == 0 {
			return id, nil
		}
		had, err := s.tx.Source(key)
		if err != nil || had.Of == s.def.ID && had.URL == long(s.base, r.url) {
			return id, err
		}
		id = freshet.SourceID(fmt.Sprintf("%s-%d", plain, n))
	}
}

// letters returns a place in base 32.
func letters(hash int64) string {
	var text [10]byte
	for i := range text {
		text[len(text)-1-i] = "abcdefghijklmnopqrstuvwxyz234567"[hash>>(5*i)&31]
	}
	return string(text[:])
}

// SetPage gives a page another state. Its source, if it is watched, is removed, its history kept. A
// page that is set waiting can be promoted again. Only PromotePages and AddSource make a page watched.
func (s *Store) SetPage(ctx context.Context, id freshet.SourceID, url string, state crawl.PageState) error {
	if state == crawl.PageWatched || !slices.Contains(states, state) {
		return &invalid.Error{Field: "state", Reason: fmt.Sprintf("a page cannot be set %.40q", state)}
	}
	return s.db.Write(ctx, "setting page "+url, func(tx *store.Tx) error {
		at, err := openWatched(tx, id)
		if err != nil {
			return err
		}
		r, found, err := at.find(url, hashOf(url))
		if err != nil {
			return err
		}
		if !found {
			return noPage(id, url)
		}
		before := r
		if r.become(state); r == before {
			return nil
		}
		if before.is(crawl.PageWatched) {
			src, err := tx.Source(before.source)
			if err != nil {
				return err
			}
			if _, watched := tx.SourceKey(src.ID); watched {
				err = tx.DropSource(src.ID, false)
			}
			if err != nil {
				return err
			}
		}
		if err := at.replace(before, r); err != nil {
			return err
		}
		return at.close()
	})
}

// Announce records a change of a page as a whole that a source watches, or watched, at a moment.
// PageWent removes the source, and the page is gone. PageBack follows when a page is watched again
// that was announced to be gone. PageCame applies only to a page that is New, and no longer is then.
// What was announced already, or has not happened, gives ErrNotFound.
func (s *Store) Announce(ctx context.Context, id freshet.SourceID, e crawl.PageEvent, at time.Time, summary string) (c freshet.Change, err error) {
	err = s.db.Write(ctx, "announcing page "+string(id), func(tx *store.Tx) error {
		key, _ := tx.SourceKey(id)
		if key == 0 {
			return unknown(id)
		}
		src, err := tx.Source(key)
		if err != nil {
			return err
		}
		of, r, found, err := pageOf(tx, key, src)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("source %s is not a page of a site: %w", id, freshet.ErrNotFound)
		}
		before := r
		news, err := r.announce(e)
		if err != nil {
			return err
		}
		if !news {
			return fmt.Errorf("that page %s is %s: %w", id, e, freshet.ErrNotFound)
		}
		if c, err = tx.AppendChange(id, at, summary, freshet.Details{Page: e}); err != nil {
			return err
		}
		if e == crawl.PageWent {
			if err := tx.DropSource(id, false); err != nil {
				return err
			}
		}
		if err := of.replace(before, r); err != nil {
			return err
		}
		return of.close()
	})
	return c, err
}

// A known is a site as readers see it.
type known struct {
	key   int64
	id    freshet.SourceID
	site  *crawl.Settings // nil if it is not a site any more
	base  string
	count Counts
}

// site returns a site that is watched.
func (s *Store) site(ctx context.Context, id freshet.SourceID) (k known, err error) {
	k.id = id
	var base *string
	var url string
	var definition []byte
	fields := make([]any, 0, 12)
	var counts [8]*int64
	for i := range counts {
		fields = append(fields, &counts[i])
	}
	err = s.db.Each(ctx, "reading site "+string(id), `SELECT s.key, s.url, s.definition, h.base, h.waiting, h.watched, h.gone, h.refused, h.covered, h.sitemaps, h.feeds, h.links
		FROM sources s LEFT JOIN shelves h ON h.site = s.key WHERE s.id = ? AND s.removed = 0`, []any{id}, func(scan func(...any) error) error {
		return scan(append([]any{&k.key, &url, &definition, &base}, fields...)...)
	})
	switch {
	case err != nil:
		return k, err
	case k.key == 0:
		return k, unknown(id)
	case base == nil:
		return k, noSite(id)
	}
	k.base = *base
	for i, n := range k.count.fields() {
		*n = int(*counts[i])
	}
	src, err := freshet.ParseDefinitionOver(freshet.Source{}, id, url, definition)
	k.site = src.Site
	return k, err
}

// CountPages counts the pages of a site.
func (s *Store) CountPages(ctx context.Context, id freshet.SourceID) (Counts, error) {
	k, err := s.site(ctx, id)
	return k.count, err
}

// The statements that find pages of a site, and those of a state. Both end with after.
const (
	pageColumns   = "p.site, p.hash, p.url, p.state, p.found, p.depth, p.flags, p.seen, p.date, p.listed, p.gone, p.source, coalesce(s.id, '')"
	selectPages   = "SELECT " + pageColumns + " FROM pages p LEFT JOIN sources s ON s.key = p.source WHERE p.site = ? "
	selectByState = "SELECT " + pageColumns + " FROM pages p INDEXED BY pages_by_state LEFT JOIN sources s ON s.key = p.source WHERE p.site = ? AND p.state = ? "
	after         = "AND p.hash > ? ORDER BY p.hash LIMIT ?"
)

// read returns the pages that a query finds, and the place of the last.
func (s *Store) read(ctx context.Context, k *known, query string, args ...any) (found []Page, err error) {
	err = s.db.Each(ctx, "reading the pages of "+string(k.id), query, append([]any{k.key}, args...), func(scan func(...any) error) error {
		var values [12]any
		var source freshet.SourceID
		places := make([]any, 0, len(values)+1)
		for i := range values {
			places = append(places, &values[i])
		}
		if err := scan(append(places, &source)...); err != nil {
			return err
		}
		r, err := readRow(values[:])
		if err == nil {
			found = append(found, Page{
				URL: long(k.base, r.url), Found: ways[r.found], Depth: int(r.depth), Date: r.date, Listed: r.listed, Gone: r.gone, Seen: r.seen,
				New: r.flags&flagNew != 0, State: states[r.state], Source: source, Place: r.hash,
			})
		}
		return err
	})
	return found, err
}

// Page returns one page of a site by its URL, or ErrNotFound.
func (s *Store) Page(ctx context.Context, id freshet.SourceID, url string) (Page, error) {
	k, err := s.site(ctx, id)
	if err != nil {
		return Page{}, err
	}
	for hash := hashOf(url); ; hash = nextHash(hash) {
		found, err := s.read(ctx, &k, selectPages+"AND p.hash = ?", hash)
		switch {
		case err != nil:
			return Page{}, err
		case len(found) == 0:
			return Page{}, noPage(id, url)
		case found[0].URL == url:
			return found[0], nil
		}
	}
}

// Pages yields pages of a site, in the order in which they would be promoted.
func (s *Store) Pages(ctx context.Context, id freshet.SourceID, q Query) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		if err := s.each(ctx, id, q, func(p Page) bool { return yield(p, nil) }); err != nil {
			yield(Page{}, err)
		}
	}
}

// each passes on the pages of a query until yield returns false.
func (s *Store) each(ctx context.Context, id freshet.SourceID, q Query, yield func(Page) bool) error {
	k, err := s.site(ctx, id)
	if err != nil {
		return err
	}
	last := cmp.Or(q.After, -1)
	query, args := selectPages, []any{}
	if q.State != "" {
		state := slices.Index(states, q.State)
		if state < 0 {
			return &invalid.Error{Field: "state", Reason: fmt.Sprintf("%.40q is not one of waiting, watched, gone, refused and covered", q.State)}
		}
		query, args = selectByState, append(args, state)
	}
	for left := q.Limit; ; {
		most := readAtOnce
		if q.Limit > 0 {
			most = min(most, left)
		}
		found, err := s.read(ctx, &k, query+after, append(slices.Clone(args), last, most)...)
		if err != nil {
			return err
		}
		for _, p := range found {
			if !yield(p) {
				return nil
			}
		}
		left -= len(found)
		if len(found) < most || q.Limit > 0 && left == 0 {
			return nil
		}
		last = found[len(found)-1].Place
	}
}
