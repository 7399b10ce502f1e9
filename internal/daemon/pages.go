package daemon

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// AddPages puts pages that were found for a site on its shelf, as the store's AddPages
// does. No removal of the site comes in between. If the site has been removed or edited
// since it was as given, it refuses: the pages may not belong to it any more.
func (d *Daemon) AddPages(ctx context.Context, site freshet.Source, pages []freshet.Page) (added, over int, err error) {
	defer d.counts.counting.pass(1)()
	now, err := d.cfg.Store.Source(ctx, site.ID)
	if err != nil {
		return 0, 0, err
	}
	if now.Revision != site.Revision {
		return 0, 0, &freshet.StaleError{Source: site.ID, Given: site.Revision, Stored: now.Revision}
	}
	return d.cfg.Store.AddPages(ctx, site.ID, pages)
}

// TakePages begins to watch waiting pages of a site. It is the store's TakePages, told
// to the loop.
func (d *Daemon) TakePages(ctx context.Context, site freshet.SourceID, n int) ([]freshet.Source, error) {
	leave := d.counts.counting.pass(1)
	taken, err := d.cfg.Store.TakePages(ctx, site, n)
	for _, s := range taken {
		d.counts.add(s.ID, 1)
	}
	leave()
	if err != nil {
		return nil, err
	}
	ids := make([]freshet.SourceID, len(taken))
	for i, s := range taken {
		ids[i] = s.ID
	}
	return taken, d.tellSources(ctx, ids)
}

// Announce tells a change of a page as a whole. It is the store's Announce, told to
// the loop.
func (d *Daemon) Announce(ctx context.Context, id freshet.SourceID, e freshet.PageEvent, at time.Time, summary string) (freshet.Change, error) {
	var c freshet.Change
	announce := func() (_ freshet.SourceID, err error) {
		c, err = d.cfg.Store.Announce(ctx, id, e, at, summary)
		return id, err
	}
	var err error
	if e == freshet.PageWent {
		err = d.counts.edit(-1, announce)
	} else {
		_, err = announce()
	}
	if err != nil {
		return c, err
	}
	d.cfg.Log.Info("page "+string(e), "source", id, "url", freshet.MaskURL(c.Label.URL), "seq", c.Seq, "cursor", c.Cursor, "summary", summary)
	if e == freshet.PageWent {
		return c, d.tellSource(ctx, id, sched.SourceRemoved{Source: id})
	}
	return c, nil
}

// SetPage says what becomes of a page of a site. It is the store's SetPage, told to
// the loop.
func (d *Daemon) SetPage(ctx context.Context, site freshet.SourceID, url string, state freshet.PageState) error {
	page, err := d.cfg.Store.Page(ctx, site, url)
	if err != nil {
		return err
	}
	if page.State != freshet.PageWatched {
		return d.cfg.Store.SetPage(ctx, site, url, state)
	}
	err = d.counts.edit(-1, func() (freshet.SourceID, error) {
		return page.Source, d.cfg.Store.SetPage(ctx, site, url, state)
	})
	if err != nil {
		return err
	}
	return d.tellSource(ctx, page.Source, sched.SourceRemoved{Source: page.Source})
}

// tellSources tells the loop how sources now are in the store.
func (d *Daemon) tellSources(ctx context.Context, ids []freshet.SourceID) error {
	for _, id := range ids {
		if err := d.tellSource(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// pagesOf returns the sources that a site has, beside itself.
func (d *Daemon) pagesOf(ctx context.Context, site freshet.SourceID) (ids []freshet.SourceID, err error) {
	if d.running.Load() {
		err = d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) {
			for _, source := range s.All() {
				if source.Of == site {
					ids = append(ids, source.ID)
				}
			}
		})
		if !errors.Is(err, ErrNotRunning) {
			slices.Sort(ids)
			return ids, err
		}
	}
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Of == site {
			ids = append(ids, w.ID)
		}
	}
	return ids, nil
}

// updateSite changes a site, and with it what holds for its pages. One that is no site any
// more lets go of them.
func (d *Daemon) updateSite(ctx context.Context, s freshet.Source) error {
	leave := d.counts.counting.pass(1)
	edited := d.cfg.Store.UpdateSource(ctx, s)
	if edited != nil && s.Site != nil {
		leave()
		return edited
	}
	pages, err := d.pagesOf(context.WithoutCancel(ctx), s.ID)
	if err == nil && s.Site == nil {
		err = d.countGone(pages, edited)
	}
	leave()
	if err != nil {
		return errors.Join(edited, err)
	}
	d.boundSet(s.Keep)
	return errors.Join(edited, d.tellSources(ctx, append(pages, s.ID)))
}

// countGone counts sources that are watched no longer. If there was an error, that was
// cut off, and some of them still are.
func (d *Daemon) countGone(ids []freshet.SourceID, cut error) error {
	for _, id := range ids {
		if cut != nil {
			_, err := d.cfg.Store.Source(context.Background(), id)
			if err == nil {
				continue
			}
			if !errors.Is(err, freshet.ErrNotFound) {
				return err
			}
		}
		d.counts.add(id, -1)
	}
	return nil
}

// removeSite stops watching a site and all of its pages.
func (d *Daemon) removeSite(ctx context.Context, id freshet.SourceID, purge bool) error {
	defer d.counts.counting.pass(alone)()
	pages, err := d.pagesOf(ctx, id)
	if err != nil {
		return err
	}
	all := append(pages, id)
	remove := func() error { return d.cfg.Store.RemoveSource(ctx, id, purge) }
	var removed error
	if purge {
		removed = d.purge(ctx, all, remove)
	} else {
		removed = remove()
	}
	return errors.Join(removed, d.countGone(all, removed), d.tellSources(ctx, all))
}

// A Member is a source that belongs to a site, beside the site itself.
type Member struct {
	Source freshet.Source
	Polled bool // a poll of it has ended, whatever came of it
}

// Members returns the sources of all sites.
func (d *Daemon) Members(ctx context.Context) (all []Member, err error) {
	err = d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) {
		for slot, source := range s.All() {
			if source.Of != "" {
				all = append(all, Member{Source: source, Polled: s.Polled(slot)})
			}
		}
	})
	return all, err
}

// siteList is which sites there are.
type siteList struct {
	mu  sync.Mutex
	all map[freshet.SourceID]freshet.Source
}

// notice takes note of how a source now is.
func (l *siteList) notice(s freshet.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Site == nil {
		delete(l.all, s.ID)
		return
	}
	if l.all == nil {
		l.all = map[freshet.SourceID]freshet.Source{}
	}
	l.all[s.ID] = s
}

// has reports whether a source stands for a whole site.
func (l *siteList) has(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.all[id]
	return ok
}

// get returns a source that stands for a whole site, and whether there is one.
func (l *siteList) get(id freshet.SourceID) (freshet.Source, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.all[id]
	return s, ok
}

// forget takes note that a source is watched no longer.
func (l *siteList) forget(id freshet.SourceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, id)
}

// Sites returns the sources that stand for whole sites, in the order of their IDs.
func (d *Daemon) Sites() []freshet.Source {
	d.sites.mu.Lock()
	defer d.sites.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.sites.all), func(a, b freshet.Source) int { return cmp.Compare(a.ID, b.ID) })
}
