package store

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// The states and ways of finding of pages, by their numbers in the table.
var (
	pageStates = []freshet.PageState{freshet.PageWaiting, freshet.PageWatched, freshet.PageGone, freshet.PageRefused, freshet.PageCovered}
	pageWays   = []freshet.FoundBy{freshet.BySitemap, freshet.ByFeed, freshet.ByLink}
)

// What can be said of a page by a flag.
const (
	pageNew  = 1 << iota // it came to the site after the site was known
	pageWent             // it was told to be gone, and not to be back since
)

// hashBits is how many bits the hash of a page has: as many as fit into six bytes of
// SQLite, which hold apart the pages of a site, and the ten letters of an ID.
const hashBits = 47

// pageHash returns where a page belongs on its shelf. A site cannot choose URLs that
// all belong to one place.
func pageHash(pageURL string) int64 {
	sum := sha256.Sum256([]byte(pageURL))
	return int64(binary.BigEndian.Uint64(sum[:]) >> (64 - hashBits))
}

// nextHash returns the place after another.
func nextHash(hash int64) int64 { return (hash + 1) & (1<<hashBits - 1) }

// A pageRow is the row of a page.
type pageRow struct {
	site, hash   int64
	url          string // without the base of the shelf
	state, found int64
	depth, flags int64
	seen         time.Time
	date         time.Time
	listed, gone time.Time
	source       int64
}

// page columns, in the order of the table
const (
	pageURLAt = 2
	seenAt    = 7
)

// values returns the row as it is written.
func (r *pageRow) values() []driver.Value {
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
	return []driver.Value{r.site, r.hash, r.url, r.state, r.found, r.depth, r.flags, r.seen.Unix(), date, after(r.listed), after(r.gone), CountOrNull(r.source)}
}

// readPage reads what values returned.
func readPage[V any](v []V) (r pageRow, err error) {
	whole := func(i int) (n int64) { n, _ = any(v[i]).(int64); return n }
	at := func(i int, from int64) time.Time {
		if n, ok := any(v[i]).(int64); ok {
			return time.Unix(from+n, 0).UTC()
		}
		return time.Time{}
	}
	url, _ := any(v[pageURLAt]).(string)
	seen := whole(seenAt)
	r = pageRow{
		site: whole(0), hash: whole(1), url: url, state: whole(3), found: whole(4), depth: whole(5), flags: whole(6),
		seen: at(seenAt, 0), date: at(8, 0), listed: at(9, seen), gone: at(10, seen), source: whole(11),
	}
	if r.state < 0 || r.state >= int64(len(pageStates)) || r.found < 0 || r.found >= int64(len(pageWays)) {
		return r, fmt.Errorf("%w: a page of a site has state %d and was found in way %d", freshet.ErrDamaged, r.state, r.found)
	}
	return r, nil
}

// is reports whether the page has a state.
func (r *pageRow) is(state freshet.PageState) bool { return pageStates[r.state] == state }

// become gives the page a state.
func (r *pageRow) become(state freshet.PageState) { r.state = int64(slices.Index(pageStates, state)) }

// short returns a URL as it is stored.
func (sh *shelf) short(pageURL string) string {
	if rest, ok := strings.CutPrefix(pageURL, sh.base); ok && sh.base != "" && strings.HasPrefix(rest, "/") {
		return rest
	}
	return pageURL
}

// long returns the URL that is stored in short.
func (sh *shelf) long(stored string) string {
	if strings.HasPrefix(stored, "/") {
		return sh.base + stored
	}
	return stored
}

// page returns the page of a row.
func (sh *shelf) page(r *pageRow, source freshet.SourceID) freshet.Page {
	return freshet.Page{
		URL: sh.long(r.url), Found: pageWays[r.found], Depth: int(r.depth), Date: r.date, Listed: r.listed, Gone: r.gone, Seen: r.seen,
		New: r.flags&pageNew != 0, State: pageStates[r.state], Source: source,
	}
}

// add counts a page, n times.
func (sh *shelf) add(r *pageRow, n int) {
	c := &sh.count
	*[]*int{&c.Waiting, &c.Watched, &c.Gone, &c.Refused, &c.Covered}[r.state] += n
	*[]*int{&c.Sitemaps, &c.Feeds, &c.Links}[r.found] += n
	sh.dirty = true
}

// selectPage finds the page at a place of a shelf.
var selectPage = pagesTable.selection + " WHERE site = ? AND hash = ?"

// findPage returns the page of a shelf with a URL that hashes to a place, or where it
// is to be put.
func (b *batch) findPage(sh *shelf, pageURL string, hash int64) (r pageRow, found bool, err error) {
	short := sh.short(pageURL)
	for {
		there := false
		err = b.Query(selectPage, []driver.Value{sh.key, hash}, func(v []driver.Value) (err error) {
			there = true
			r, err = readPage(v)
			return err
		})
		switch {
		case err != nil:
			return r, false, err
		case !there:
			return pageRow{site: sh.key, hash: hash, url: short}, false, nil
		case r.url == short:
			return r, true, nil
		}
		hash = nextHash(hash)
	}
}

// insertPage writes a page that is not on the shelf.
func (b *batch) insertPage(sh *shelf, r *pageRow) error {
	sh.add(r, 1)
	return b.insert(&pagesTable, r.values()...)
}

// putPage writes a page in place of what it was.
func (b *batch) putPage(sh *shelf, before, r *pageRow) error {
	sh.add(before, -1)
	sh.add(r, 1)
	return b.put(&pagesTable, r.values()...)
}

// pageOf returns the page that a source watches, or watched, with its shelf; nil if
// it is the page of no site.
func (b *batch) pageOf(e *entry) (sh *shelf, r *pageRow, err error) {
	if sh = b.shelf(e.site); sh == nil {
		return nil, nil, nil
	}
	var pageURL string
	err = b.Query("SELECT url FROM sources WHERE key = ?", []driver.Value{e.key}, func(v []driver.Value) error {
		pageURL, _ = v[0].(string)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	found, ok, err := b.findPage(sh, pageURL, pageHash(pageURL))
	if err != nil || !ok || found.source != e.key {
		return nil, nil, err
	}
	return sh, &found, nil
}

// pagePage is how many pages are read at once.
const pagePage = 500

// pageColumns are what scanPage scans.
var pageColumns = "p." + strings.Join(pagesTable.columns, ", p.") + ", coalesce(s.id, '')"

// selectPages finds pages of a site, and selectByState those of a state.
var (
	selectPages   = "SELECT " + pageColumns + " FROM pages p LEFT JOIN sources s ON s.key = p.source WHERE p.site = ? "
	selectByState = "SELECT " + pageColumns + " FROM pages p INDEXED BY pages_by_state LEFT JOIN sources s ON s.key = p.source WHERE p.site = ? AND p.state = ? "
)

// pageAfter has pages be read from a place on.
const pageAfter = "AND p.hash > ? ORDER BY p.hash LIMIT ?"

// scanPage reads pageColumns.
func scanPage(scan func(...any) error) (r pageRow, source freshet.SourceID, err error) {
	values := make([]any, len(pagesTable.columns))
	places := make([]any, 0, len(values)+1)
	for i := range values {
		places = append(places, &values[i])
	}
	if err := scan(append(places, &source)...); err != nil {
		return r, "", err
	}
	r, err = readPage(values)
	return r, source, err
}

// readPages returns the pages that a query finds, each with its place.
func (s *Store) readPages(ctx context.Context, sh *shelf, query string, args ...any) (found []freshet.Page, last int64, err error) {
	err = eachRow(ctx, s.reader, query, append([]any{sh.key}, args...), func(scan func(...any) error) error {
		r, source, err := scanPage(scan)
		if err == nil {
			found, last = append(found, sh.page(&r, source)), r.hash
		}
		return err
	})
	return found, last, s.fault("reading the pages of "+string(sh.site.ID), err)
}

// Page implements [freshet.Shelf].
func (s *Store) Page(ctx context.Context, site freshet.SourceID, pageURL string) (freshet.Page, error) {
	sh, err := s.shelfOf(ctx, site)
	if err != nil {
		return freshet.Page{}, err
	}
	p, _, err := s.lookUp(ctx, &sh, pageURL)
	return p, err
}

// lookUp returns a page by its URL, and its place.
func (s *Store) lookUp(ctx context.Context, sh *shelf, pageURL string) (freshet.Page, int64, error) {
	for hash := pageHash(pageURL); ; hash = nextHash(hash) {
		found, _, err := s.readPages(ctx, sh, selectPages+"AND p.hash = ?", hash)
		switch {
		case err != nil:
			return freshet.Page{}, 0, err
		case len(found) == 0:
			return freshet.Page{}, 0, noPage(sh.site.ID, pageURL)
		case found[0].URL == pageURL:
			return found[0], hash, nil
		}
	}
}

func noPage(site freshet.SourceID, pageURL string) error {
	return fmt.Errorf("%s is not known as a page of site %s: %w", pageURL, site, freshet.ErrNotFound)
}

// Pages implements [freshet.Shelf].
func (s *Store) Pages(ctx context.Context, site freshet.SourceID, q freshet.PageQuery) iter.Seq2[freshet.Page, error] {
	return func(yield func(freshet.Page, error) bool) {
		err := s.eachPage(ctx, site, q, func(p freshet.Page) bool { return yield(p, nil) })
		if err != nil {
			yield(freshet.Page{}, err)
		}
	}
}

// eachPage hands on the pages of a query, for as long as they are wanted.
func (s *Store) eachPage(ctx context.Context, site freshet.SourceID, q freshet.PageQuery, wanted func(freshet.Page) bool) error {
	sh, err := s.shelfOf(ctx, site)
	if err != nil {
		return err
	}
	last := int64(-1)
	if q.After != "" {
		if _, last, err = s.lookUp(ctx, &sh, q.After); err != nil {
			return err
		}
	}
	query, args := selectPages, []any{}
	if q.State != "" {
		state := slices.Index(pageStates, q.State)
		if state < 0 {
			return &freshet.InvalidError{Field: "state", Reason: fmt.Sprintf("%.40q is not one of waiting, watched, gone, refused and covered", q.State)}
		}
		query, args = selectByState, append(args, state)
	}
	for left := q.Limit; ; {
		most := pagePage
		if q.Limit > 0 {
			most = min(most, left)
		}
		found, end, err := s.readPages(ctx, &sh, query+pageAfter, append(slices.Clone(args), last, most)...)
		if err != nil {
			return err
		}
		for _, p := range found {
			if !wanted(p) {
				return nil
			}
		}
		left -= len(found)
		if len(found) < most || q.Limit > 0 && left == 0 {
			return nil
		}
		last = end
	}
}
