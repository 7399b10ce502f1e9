package frontier

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/store"
)

// A site is a site within a transaction, with the count of its pages.
type site struct {
	tx    *store.Tx
	key   int64
	def   freshet.Source
	base  string // that the URLs of its pages are stored without
	count Counts
}

// countColumns are the columns of the row of a site after its key.
const countColumns = "base, waiting, watched, gone, refused, covered, sitemaps, feeds, links"

// fields returns the counts in the order of countColumns.
func (c *Counts) fields() []*int {
	return []*int{&c.Waiting, &c.Watched, &c.Gone, &c.Refused, &c.Covered, &c.Sitemaps, &c.Feeds, &c.Links}
}

// openSite returns the site with a key, nil if the source is none and was none.
func openSite(tx *store.Tx, key int64) (*site, error) {
	var s *site
	err := tx.Query("SELECT "+countColumns+" FROM shelves WHERE site = ?", []driver.Value{key}, func(v []driver.Value) error {
		s = &site{tx: tx, key: key}
		s.base, _ = v[0].(string)
		for i, n := range s.count.fields() {
			whole, _ := v[1+i].(int64)
			*n = int(whole)
		}
		return nil
	})
	if err == nil && s != nil {
		s.def, err = tx.Source(key)
	}
	return s, err
}

// openWatched returns a site that is watched.
func openWatched(tx *store.Tx, id freshet.SourceID) (*site, error) {
	key, watched := tx.SourceKey(id)
	if !watched {
		return nil, unknown(id)
	}
	s, err := openSite(tx, key)
	if err == nil && (s == nil || s.def.Site == nil) {
		err = noSite(id)
	}
	return s, err
}

func unknown(id freshet.SourceID) error { return fmt.Errorf("source %s: %w", id, freshet.ErrNotFound) }

func noSite(id freshet.SourceID) error {
	return fmt.Errorf("source %s is not a site: %w", id, freshet.ErrNotFound)
}

func noPage(site freshet.SourceID, url string) error {
	return fmt.Errorf("%s is not known as a page of site %s: %w", url, site, freshet.ErrNotFound)
}

// long returns a URL that is stored without the base of its site.
func long(base, stored string) string {
	if strings.HasPrefix(stored, "/") {
		return base + stored
	}
	return stored
}

// short returns a URL as it is stored.
func (s *site) short(url string) string {
	if rest, ok := strings.CutPrefix(url, s.base); ok && s.base != "" && strings.HasPrefix(rest, "/") {
		return rest
	}
	return url
}

// columns are those of a page.
const columns = "site, hash, url, state, found, depth, flags, seen, date, listed, gone, source"

// find returns the page with a URL whose hash is known, or the row to insert for it.
func (s *site) find(url string, hash int64) (r row, found bool, err error) {
	short := s.short(url)
	for {
		there := false
		err = s.tx.Query("SELECT "+columns+" FROM pages WHERE site = ? AND hash = ?", []driver.Value{s.key, hash}, func(v []driver.Value) (err error) {
			there = true
			r, err = readRow(v)
			return err
		})
		switch {
		case err != nil:
			return r, false, err
		case !there:
			return row{site: s.key, hash: hash, url: short}, false, nil
		case r.url == short:
			return r, true, nil
		}
		hash = nextHash(hash)
	}
}

// add counts a page n times, by the numbers of its state and of its way of finding.
func (c *Counts) add(state, found int64, n int) {
	fields := c.fields()
	*fields[state] += n
	*fields[len(states)+int(found)] += n
}

// insert writes a page that was not known.
func (s *site) insert(r *row) error {
	s.count.add(r.state, r.found, 1)
	return s.tx.Insert("pages", r.values()...)
}

// replace writes a page in place of what it was. Nothing is written if it is the same.
func (s *site) replace(before, r row) error {
	if r == before {
		return nil
	}
	s.count.add(before.state, before.found, -1)
	s.count.add(r.state, r.found, 1)
	return s.tx.Put("pages", r.values()...)
}

// close writes the counts.
func (s *site) close() error {
	values := []driver.Value{s.key, s.base}
	for _, n := range s.count.fields() {
		values = append(values, int64(*n))
	}
	return s.tx.Put("shelves", values...)
}

// pageOf returns the page that a source watches, or watched, with its site; found is false if it is
// the page of none.
func pageOf(tx *store.Tx, key int64, src freshet.Source) (s *site, r row, found bool, err error) {
	if src.Of == "" {
		return nil, r, false, nil
	}
	of, _ := tx.SourceKey(src.Of)
	if s, err = openSite(tx, of); err != nil || s == nil {
		return nil, r, false, err
	}
	r, found, err = s.find(src.URL, hashOf(src.URL))
	return s, r, found && r.source == key, err
}

const (
	clearSources = 200  // watched pages removed in one transaction
	purgeSources = 20   // of those, if their history goes too
	clearRows    = 5000 // pages that only wait
)

// clear removes pages, watched ones first, and not more than a transaction should hold. It
// reports whether there may be more of them. A watched page waits again until its row is removed,
// so that it is promoted again if the removal of the site is interrupted for good.
func (s *site) clear(purge bool) (more bool, err error) {
	query, most := "SELECT id, key, url FROM sources WHERE site = ? AND removed = 0 LIMIT ?", clearSources
	if purge {
		query, most = "SELECT id, key, url FROM sources WHERE site = ? LIMIT ?", purgeSources
	}
	type member struct {
		id, url string
		key     int64
	}
	var members []member
	err = s.tx.Query(query, []driver.Value{s.key, int64(most)}, func(v []driver.Value) error {
		var m member
		m.id, _ = v[0].(string)
		m.key, _ = v[1].(int64)
		m.url, _ = v[2].(string)
		members = append(members, m)
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, m := range members {
		r, found, err := s.find(m.url, hashOf(m.url))
		if err == nil && found && r.source == m.key {
			err = s.release(r, crawl.PageWaiting, purge)
		}
		if err == nil {
			err = s.tx.DropSource(freshet.SourceID(m.id), purge)
		}
		if err != nil {
			return false, err
		}
	}
	if len(members) == most {
		return true, s.close()
	}
	return s.clearRows()
}

// release gives a watched page another state because its source goes.
func (s *site) release(r row, state crawl.PageState, purge bool) error {
	before := r
	if r.is(crawl.PageWatched) {
		r.become(state)
	}
	if purge {
		r.source = 0
	}
	return s.replace(before, r)
}

// clearRows deletes pages, and reports whether there may be more.
func (s *site) clearRows() (more bool, err error) {
	n, last := 0, int64(0)
	err = s.tx.Query("SELECT "+columns+" FROM pages WHERE site = ? ORDER BY hash LIMIT ?", []driver.Value{s.key, int64(clearRows)}, func(v []driver.Value) error {
		r, err := readRow(v)
		if err == nil {
			s.count.add(r.state, r.found, -1)
		}
		n, last = n+1, r.hash
		return err
	})
	if err == nil && n > 0 {
		err = s.tx.Remove("pages", "site = ? AND hash <= ?", s.key, last)
	}
	if err != nil {
		return false, err
	}
	return n == clearRows, s.close()
}
