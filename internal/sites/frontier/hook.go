package frontier

import (
	"context"
	"errors"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/store"
)

// A hook keeps the pages of sites in step with their sources.
type hook struct{}

// Table implements [store.SiteHook].
func (hook) Table() string { return "shelves" }

// AddSite implements [store.SiteHook].
func (hook) AddSite(tx *store.Tx, key int64, src freshet.Source) error {
	s := site{tx: tx, key: key, base: originOf(src.URL)}
	return s.close()
}

// PurgeSite implements [store.SiteHook].
func (hook) PurgeSite(tx *store.Tx, key int64) error {
	return tx.Remove("shelves", "site = ?", key)
}

// PutPage implements [store.SiteHook]: a page that is known is watched from now on.
func (hook) PutPage(tx *store.Tx, key int64, src freshet.Source) error {
	if src.Index {
		return nil
	}
	of, _ := tx.SourceKey(src.Of)
	s, err := openSite(tx, of)
	if err != nil || s == nil {
		return err
	}
	r, found, err := s.find(src.URL, hashOf(src.URL))
	if err != nil || !found || r.is(crawl.PageWatched) {
		return err
	}
	before := r
	r.become(crawl.PageWatched)
	r.source = key
	if err := s.replace(before, r); err != nil {
		return err
	}
	return s.close()
}

// Removing implements [store.SiteHook]. All pages of a site go before the site. A page that is removed
// alone is refused, so that it is not promoted again.
func (hook) Removing(tx *store.Tx, key int64, src freshet.Source, purge bool) (more bool, err error) {
	s, err := openSite(tx, key)
	if err != nil {
		return false, err
	}
	if s != nil {
		if more, err = s.clear(purge); err != nil || more {
			return more, err
		}
	}
	of, r, found, err := pageOf(tx, key, src)
	if err != nil || !found {
		return false, err
	}
	if err := of.release(r, crawl.PageRefused, purge); err != nil {
		return false, err
	}
	return false, of.close()
}

// Dissolve implements [store.SiteHook]. The history of the pages stays.
func (hook) Dissolve(ctx context.Context, db *store.DB, id freshet.SourceID) error {
	k, err := NewStore(db).site(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) { // it is removed, and its pages were removed before
		return nil
	}
	if err != nil || k.site != nil {
		return err
	}
	members := k.count.Known() > 0
	err = db.Each(ctx, "reading the sources of "+string(id), "SELECT 1 FROM sources WHERE site = ? AND removed = 0 LIMIT 1", []any{k.key}, func(func(...any) error) error {
		members = true
		return nil
	})
	for err == nil && members {
		err = db.Write(ctx, "removing the pages of "+string(id), func(tx *store.Tx) (err error) {
			members = false
			s, err := openSite(tx, k.key)
			if err != nil || s == nil || s.def.Site != nil { // it is a site again
				return err
			}
			members, err = s.clear(false)
			return err
		})
	}
	return err
}
