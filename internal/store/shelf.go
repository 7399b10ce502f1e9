package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"

	"freshet/internal/freshet"
)

// A shelf is what the writing process remembers of a site: what the site says, which
// holds for its pages, and how many pages there are.
type shelf struct {
	key   int64          // of the site
	site  freshet.Source // as it is now
	base  string         // that URLs of pages are stored without
	count freshet.PageCounts
	dirty bool // the count is newer than the table
}

// siteOf returns the site with a key, empty if there is none.
func (b *batch) siteOf(key int64) freshet.Source {
	if sh := b.shelf(key); sh != nil {
		return sh.site
	}
	return freshet.Source{}
}

// shelf returns the shelf of the site with a key, to be changed by this batch, or nil.
func (b *batch) shelf(key int64) *shelf {
	if sh, ok := b.sites[key]; ok {
		return sh
	}
	sh, ok := b.store.shelves[key]
	if !ok {
		return nil
	}
	copied := *sh
	b.stageShelf(&copied)
	return &copied
}

func (b *batch) stageShelf(sh *shelf) {
	if b.sites == nil {
		b.sites = map[int64]*shelf{}
	}
	b.sites[sh.key] = sh
}

// openShelf returns the shelf of a site that is watched.
func (b *batch) openShelf(id freshet.SourceID) (*shelf, error) {
	e := b.entry(id)
	if e == nil || e.removed {
		return nil, unknown(id)
	}
	sh := b.shelf(e.key)
	if sh == nil || sh.site.Site == nil {
		return nil, noSite(id)
	}
	return sh, nil
}

func noSite(id freshet.SourceID) error {
	return fmt.Errorf("source %s is not a site: %w", id, freshet.ErrNotFound)
}

// keepShelf sees to it that what a site says holds for its pages from now on. A source
// that is a site, or was one, has a shelf.
func (b *batch) keepShelf(e *entry, src freshet.Source) {
	sh := b.shelf(e.key)
	switch {
	case sh != nil:
		sh.site = src
	case src.Site != nil:
		b.stageShelf(&shelf{key: e.key, site: src, base: OriginOf(src.URL), dirty: true})
	}
}

// OriginOf returns what the URLs of a site begin with.
func OriginOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// writeShelves writes the counts of the shelves that the batch has changed.
func (b *batch) writeShelves() error {
	for _, sh := range b.sites {
		if sh == nil || !sh.dirty {
			continue
		}
		n := sh.count
		row := []driver.Value{sh.key, sh.base}
		for _, n := range []int{n.Waiting, n.Watched, n.Gone, n.Refused, n.Covered, n.Sitemaps, n.Feeds, n.Links} {
			row = append(row, int64(n))
		}
		if err := b.put(&shelvesTable, row...); err != nil {
			return err
		}
		sh.dirty = false
	}
	return nil
}

// applyShelves takes over what a committed batch did to shelves.
func (s *Store) applyShelves(sites map[int64]*shelf) {
	for key, sh := range sites {
		if sh == nil {
			delete(s.shelves, key)
		} else {
			if old := s.shelves[key]; old != nil && old.site.Revision != sh.site.Revision {
				s.roll.stale[key] = true
			}
			s.shelves[key] = sh
		}
	}
}

// readShelves returns the shelves by the keys of their sites.
func readShelves(ctx context.Context, q querier) (map[int64]*shelf, error) {
	shelves := map[int64]*shelf{}
	err := eachRow(ctx, q, `SELECT h.site, h.base, h.waiting, h.watched, h.gone, h.refused, h.covered, h.sitemaps, h.feeds, h.links, `+sourceColumns+`
		FROM shelves h JOIN sources s ON s.key = h.site`, nil, func(scan func(...any) error) error {
		sh, n, row := &shelf{}, freshet.PageCounts{}, sourceRow{}
		err := scan(append([]any{&sh.key, &sh.base, &n.Waiting, &n.Watched, &n.Gone, &n.Refused, &n.Covered, &n.Sitemaps, &n.Feeds, &n.Links}, row.places()...)...)
		if err != nil {
			return err
		}
		sh.count = n
		sh.site, err = row.source(freshet.Source{})
		shelves[sh.key] = sh
		return err
	})
	return shelves, err
}

// refreshShelves reads the shelves anew if somebody else may have written since.
func (s *Store) refreshShelves(ctx context.Context) error {
	if s.keepsRoll() {
		return s.fault("reading the sites", s.upToDate(ctx))
	}
	shelves, err := readShelves(ctx, s.reader)
	if err != nil {
		return s.fault("reading the sites", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelves = shelves
	return nil
}

// site returns the site with a key as it is now, empty if there is none.
func (s *Store) site(key int64) freshet.Source {
	if key == 0 {
		return freshet.Source{}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if sh := s.shelves[key]; sh != nil {
		return sh.site
	}
	return freshet.Source{}
}

// CountPages implements [freshet.Shelf].
func (s *Store) CountPages(ctx context.Context, site freshet.SourceID) (freshet.PageCounts, error) {
	sh, err := s.shelfOf(ctx, site)
	return sh.count, err
}

// shelfOf returns a copy of the shelf of a site that is watched.
func (s *Store) shelfOf(ctx context.Context, site freshet.SourceID) (shelf, error) {
	e, err := s.remembered(ctx, site)
	if err != nil {
		return shelf{}, err
	}
	if e.key == 0 || e.removed {
		return shelf{}, unknown(site)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if sh := s.shelves[e.key]; sh != nil {
		return *sh, nil
	}
	return shelf{}, noSite(site)
}
