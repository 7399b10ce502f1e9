package store

import (
	"context"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A SiteHook keeps what is known of the pages of sites in step with the sources: the store knows only
// which sources belong to which site, and that what a site says holds for its pages.
type SiteHook interface {
	// Table names the table that has a row for each source that is a site, or was one, with its key
	// in the column site.
	Table() string

	// AddSite is called in the transaction that makes a source a site, PurgeSite in the one that purges
	// a source that is a site, or was one.
	AddSite(tx *Tx, key int64, site freshet.Source) error
	PurgeSite(tx *Tx, key int64) error

	// PutPage is called in the transaction that writes the source of a page.
	PutPage(tx *Tx, key int64, page freshet.Source) error

	// Removing is called in the transaction that removes a site, or a page, before that is done. If it
	// reports more, the transaction is committed without the removal, and the next one calls it again.
	Removing(tx *Tx, key int64, src freshet.Source, purge bool) (more bool, err error)

	// Dissolve removes the pages of a source that is not a site any more. It is called after the
	// transaction that made it so, and when a store is opened, if there are any.
	Dissolve(ctx context.Context, db *DB, site freshet.SourceID) error
}

// siteOf returns the site with a key as it is in this batch, the zero source if there is none.
func (b *batch) siteOf(key int64) freshet.Source {
	if key == 0 {
		return freshet.Source{}
	}
	if src, ok := b.sites[key]; ok {
		return src
	}
	return b.store.sites[key]
}

// siteNamed returns the key of the site with an ID, zero if there is none.
func (b *batch) siteNamed(id freshet.SourceID) int64 {
	if id == "" {
		return 0
	}
	if e := b.entry(id); e != nil && b.siteOf(e.key).ID != "" {
		return e.key
	}
	return 0
}

// watchedSite returns an error unless a site is watched.
func (b *batch) watchedSite(id freshet.SourceID) error {
	if e := b.entry(id); e == nil || e.removed || b.siteOf(e.key).Site == nil {
		return &invalid.Error{Field: "of", Reason: "there is no site " + string(id)}
	}
	return nil
}

// keepSite has what a site says hold for its pages from now on.
func (b *batch) keepSite(e *entry, src freshet.Source) error {
	known := b.siteOf(e.key).ID != ""
	if !known && src.Site == nil {
		return nil
	}
	b.stageSite(e.key, src)
	if known {
		return nil
	}
	return b.schema.sites.AddSite(&Tx{b}, e.key, src)
}

// stageSite stages a site; the zero source means that it is purged.
func (b *batch) stageSite(key int64, src freshet.Source) {
	if b.sites == nil {
		b.sites = map[int64]freshet.Source{}
	}
	b.sites[key] = src
}

// purgeSite deletes what is known of a site, if a source is one.
func (b *batch) purgeSite(e *entry) error {
	if b.siteOf(e.key).ID == "" {
		return nil
	}
	b.stageSite(e.key, freshet.Source{})
	return b.schema.sites.PurgeSite(&Tx{b}, e.key)
}

// sameSite refuses an edit that takes a page from its site, or makes it another page.
func (b *batch) sameSite(e *entry, next freshet.Source) error {
	if e.site == 0 && next.Of == "" {
		return nil
	}
	now, err := b.source(e.key)
	switch {
	case err != nil:
		return err
	case now.Of != next.Of:
		return &invalid.Error{Field: "of", Reason: "a source stays with the site that it was found for"}
	case now.URL != next.URL && !now.Index:
		return &invalid.Error{Field: "url", Reason: "the URL of a page of a site cannot be changed"}
	}
	return nil
}

// applySites makes visible what a committed batch did to sites.
func (l *sourceMemory) applySites(sites map[int64]freshet.Source) {
	for key, src := range sites {
		if src.ID == "" {
			delete(l.sites, key)
			continue
		}
		if old, known := l.sites[key]; known && old.Revision != src.Revision {
			l.sourceIndex.stale[key] = true
		}
		l.sites[key] = src
	}
}

// readSites returns the sources that are sites, or were, by their keys.
func (s *mirror) readSites(ctx context.Context, q Querier) (map[int64]freshet.Source, error) {
	sites := map[int64]freshet.Source{}
	err := EachRow(ctx, q, "SELECT h.site, "+sourceColumns+" FROM "+s.schema.sites.Table()+" h JOIN sources s ON s.key = h.site", nil, func(scan func(...any) error) error {
		var key int64
		var row sourceRow
		if err := scan(append([]any{&key}, row.places()...)...); err != nil {
			return err
		}
		src, err := row.source(freshet.Source{})
		sites[key] = src
		return err
	})
	return sites, err
}

// refreshSites reads the sites again if another process may have written since.
func (s *mirror) refreshSites(ctx context.Context) error {
	if s.hasSourceIndex() {
		return s.fault("reading the sites", s.upToDate(ctx))
	}
	sites, err := s.readSites(ctx, s.reader)
	if err != nil {
		return s.fault("reading the sites", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites = sites
	return nil
}

// site returns the site with a key as it is now, the zero source if there is none.
func (l *sourceMemory) site(key int64) freshet.Source {
	if key == 0 {
		return freshet.Source{}
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sites[key]
}

// dissolve removes the pages of a source that was a site, if it was.
func (s *Store) dissolve(ctx context.Context, id freshet.SourceID) error {
	s.mu.RLock()
	e := s.entries[id]
	was := e != nil && s.sites[e.key].ID != ""
	s.mu.RUnlock()
	if !was {
		return nil
	}
	return s.schema.sites.Dissolve(ctx, s.DB(), id)
}

// resume dissolves sites where that was interrupted.
func (s *Store) resume(ctx context.Context) error {
	for _, src := range s.sites {
		if src.Site != nil {
			continue
		}
		if err := s.schema.sites.Dissolve(ctx, s.DB(), src.ID); err != nil {
			return err
		}
	}
	return nil
}
