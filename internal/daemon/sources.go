package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/mask"
	"freshet/internal/sched"
	"freshet/internal/sites/frontier"
)

// An editor adds, changes and removes sources and the pages of sites, in the store and in
// the loop.
type editor struct {
	store     freshet.Store
	frontier  Frontier
	loop      *loop
	clock     *clockKeeper
	limits    *limits
	unbound   bool
	levels    *levelWatch
	hints     *indexHints
	sites     *siteList
	nextPolls *nextPolls
	imports   *imports
	pruner    *pruner
	log       *slog.Logger

	counts   counts
	purges   purges
	followed milestone  // in the log of outcomes, up to which the loop has read
	editing  gate       // from reading how a source now is to telling the loop
	syncing  sync.Mutex // for a Sync
	loading  loading
}

// notice takes note of how a source now is.
func (e *editor) notice(s freshet.Source) {
	e.levels.notice(s)
	e.hints.notice(s)
	if s.Of == "" {
		e.sites.notice(s)
	}
}

// AddSource begins to watch a source: it adds it to the store, and posts it to the loop.
func (e *editor) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
	s.Noise = cmp.Or(s.Noise, freshet.NoiseAuto)
	err := e.counts.edit(1, func() (id freshet.SourceID, err error) {
		s, err = e.store.AddSource(ctx, s)
		return s.ID, err
	})
	if err != nil {
		return s, err
	}
	e.pruner.boundSet(s.Keep)
	if _, err := e.tellSource(ctx, s); err != nil {
		return s, err
	}
	return s, e.imports.tellChances(ctx, s.ID, false) // that were given before it was removed
}

// UpdateSource changes a watched source, and returns it as it is then.
func (e *editor) UpdateSource(ctx context.Context, s freshet.Source) (freshet.SourceWithStatus, error) {
	if s.Site != nil || e.sites.has(s.ID) {
		if err := e.updateSite(ctx, s); err != nil {
			return freshet.SourceWithStatus{}, err
		}
		return e.store.Source(ctx, s.ID)
	}
	if err := e.store.UpdateSource(ctx, s); err != nil {
		return freshet.SourceWithStatus{}, err
	}
	e.pruner.boundSet(s.Keep)
	if s.Revision != 0 {
		s.Revision++
	}
	w, err := e.tellSource(ctx, s)
	if err == nil && w.ID == "" { // removed meanwhile
		err = freshet.ErrNotFound
	}
	return w, err
}

// Confirm accepts the version of a source that is held as suspect: it is reported as a change, and
// no second look at it is needed.
func (e *editor) Confirm(ctx context.Context, id freshet.SourceID, number int) (freshet.Change, error) {
	c, err := e.store.Confirm(ctx, id, number)
	if err != nil {
		return c, err
	}
	e.log.Info("confirmed", "source", id, "version", number, "seq", c.Seq, "cursor", c.Cursor, "summary", c.Summary)
	return c, nil
}

// RemoveSource stops watching a source, and deletes its history if purge is set.
func (e *editor) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	if e.sites.has(id) {
		return e.removeSite(ctx, id, purge)
	}
	var err error
	dropped := e.loading.drop(id)
	if purge {
		err = e.purge(ctx, []freshet.SourceID{id}, func() error { return e.counts.purge(ctx, e.store, id) })
	} else {
		err = e.counts.edit(-1, func() (freshet.SourceID, error) { return id, e.store.RemoveSource(ctx, id, false) })
	}
	if err != nil && !(dropped && errors.Is(err, freshet.ErrNotFound)) {
		return err
	}
	_, err = e.tellSource(ctx, freshet.Source{ID: id}, sched.SourceRemoved{Source: id})
	return err
}

// tellSource posts a source to the loop as it is in the store now, after other events. Of two
// concurrent edits either may come here first: it posts what the store has, not what was written,
// and only one caller posts at a time. So the loop ends with what was written last. It returns the
// source; nothing if it was removed.
func (e *editor) tellSource(ctx context.Context, s freshet.Source, events ...sched.Event) (freshet.SourceWithStatus, error) {
	defer e.editing.pass(alone)()
	// An edit that is recorded must reach the loop, even if its caller has gone.
	is, err := e.store.SourceAsWritten(context.WithoutCancel(ctx), s)
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		e.sites.forget(s.ID)
		events = append(events, sched.SourceRemoved{Source: s.ID})
	case err != nil:
		return is, err
	default:
		w := is
		e.notice(w.Source)
		e.clock.clockRecoveryAt(e.loop.dates.Now(), e.limits.Limits()).standing(&w.Status)
		events = append(events, sched.SourcePut{Source: bounded(w, e.unbound)})
	}
	e.nextPolls.forget(s.ID)
	e.loop.post(events...)
	return is, nil
}

// A Frontier keeps the pages of sites that are known: see [frontier.Store].
type Frontier interface {
	AddPages(ctx context.Context, site freshet.SourceID, pages []frontier.Page) (added, over int, err error)
	PromotePages(ctx context.Context, site freshet.SourceID, n int) ([]freshet.Source, error)
	Announce(ctx context.Context, id freshet.SourceID, e crawl.PageEvent, at time.Time, summary string) (freshet.Change, error)
	SetPage(ctx context.Context, site freshet.SourceID, url string, state crawl.PageState) error
	Page(ctx context.Context, site freshet.SourceID, url string) (frontier.Page, error)
}

// AddPages adds pages that were found for a site to its frontier. No removal of the site comes in between. If the site has been removed or edited
// since it was as given, it refuses: the pages may not belong to it any more.
func (e *editor) AddPages(ctx context.Context, site freshet.Source, pages []frontier.Page) (added, over int, err error) {
	defer e.counts.counting.pass(1)()
	now, err := e.store.Source(ctx, site.ID)
	if err != nil {
		return 0, 0, err
	}
	if now.Revision != site.Revision {
		return 0, 0, &freshet.StaleError{Source: site.ID, Given: site.Revision, Stored: now.Revision}
	}
	return e.frontier.AddPages(ctx, site.ID, pages)
}

// PromotePages begins to watch waiting pages of a site.
func (e *editor) PromotePages(ctx context.Context, site freshet.SourceID, n int) ([]freshet.Source, error) {
	leave := e.counts.counting.pass(1)
	taken, err := e.frontier.PromotePages(ctx, site, n)
	for _, s := range taken {
		e.counts.add(s.ID, 1)
	}
	leave()
	if err != nil {
		return nil, err
	}
	ids := make([]freshet.SourceID, len(taken))
	for i, s := range taken {
		ids[i] = s.ID
	}
	return taken, e.tellSources(ctx, ids)
}

// Announce records a change of a page as a whole.
func (e *editor) Announce(ctx context.Context, id freshet.SourceID, event crawl.PageEvent, at time.Time, summary string) (freshet.Change, error) {
	var c freshet.Change
	announce := func() (_ freshet.SourceID, err error) {
		c, err = e.frontier.Announce(ctx, id, event, at, summary)
		return id, err
	}
	var err error
	if event == crawl.PageWent {
		err = e.counts.edit(-1, announce)
	} else {
		_, err = announce()
	}
	if err != nil {
		return c, err
	}
	e.log.Info("page "+string(event), "source", id, "url", mask.URL(c.Label.URL), "seq", c.Seq, "cursor", c.Cursor, "summary", summary)
	if event == crawl.PageWent {
		_, err := e.tellSource(ctx, freshet.Source{ID: id}, sched.SourceRemoved{Source: id})
		return c, err
	}
	return c, nil
}

// SetPage gives a page of a site another state.
func (e *editor) SetPage(ctx context.Context, site freshet.SourceID, url string, state crawl.PageState) error {
	page, err := e.frontier.Page(ctx, site, url)
	if err != nil {
		return err
	}
	if page.State != crawl.PageWatched {
		return e.frontier.SetPage(ctx, site, url, state)
	}
	err = e.counts.edit(-1, func() (freshet.SourceID, error) {
		return page.Source, e.frontier.SetPage(ctx, site, url, state)
	})
	if err != nil {
		return err
	}
	_, err = e.tellSource(ctx, freshet.Source{ID: page.Source}, sched.SourceRemoved{Source: page.Source})
	return err
}

// tellSources tells the loop how sources now are in the store.
func (e *editor) tellSources(ctx context.Context, ids []freshet.SourceID) error {
	for _, id := range ids {
		if _, err := e.tellSource(ctx, freshet.Source{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// pagesOf returns the sources that a site has, beside itself.
func (e *editor) pagesOf(ctx context.Context, site freshet.SourceID) (ids []freshet.SourceID, err error) {
	if e.loop.running.Load() {
		err = e.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
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
	for w, err := range e.store.Sources(ctx) {
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
func (e *editor) updateSite(ctx context.Context, s freshet.Source) error {
	leave := e.counts.counting.pass(1)
	edited := e.store.UpdateSource(ctx, s)
	if edited != nil && s.Site != nil {
		leave()
		return edited
	}
	pages, err := e.pagesOf(context.WithoutCancel(ctx), s.ID)
	if err == nil && s.Site == nil {
		err = e.countGone(pages, edited)
	}
	leave()
	if err != nil {
		return errors.Join(edited, err)
	}
	e.pruner.boundSet(s.Keep)
	return errors.Join(edited, e.tellSources(ctx, append(pages, s.ID)))
}

// countGone counts sources that are watched no longer. If there was an error, that was
// cut off, and some of them still are.
func (e *editor) countGone(ids []freshet.SourceID, cut error) error {
	for _, id := range ids {
		if cut != nil {
			_, err := e.store.Source(context.Background(), id)
			if err == nil {
				continue
			}
			if !errors.Is(err, freshet.ErrNotFound) {
				return err
			}
		}
		e.counts.add(id, -1)
	}
	return nil
}

// removeSite stops watching a site and all of its pages.
func (e *editor) removeSite(ctx context.Context, id freshet.SourceID, purge bool) error {
	defer e.counts.counting.pass(alone)()
	pages, err := e.pagesOf(ctx, id)
	if err != nil {
		return err
	}
	all := append(pages, id)
	remove := func() error { return e.store.RemoveSource(ctx, id, purge) }
	var removed error
	if purge {
		removed = e.purge(ctx, all, remove)
	} else {
		removed = remove()
	}
	return errors.Join(removed, e.countGone(all, removed), e.tellSources(ctx, all))
}

// purge purges sources as delete does it, in one step.
func (e *editor) purge(ctx context.Context, ids []freshet.SourceID, delete func() error) error {
	e.purges.begin(ids)
	defer e.purges.end(ids)
	if err := e.catchUp(ctx); err != nil {
		return err
	}
	return delete()
}

// catchUp returns when the leader has read all that is recorded by now.
func (e *editor) catchUp(ctx context.Context) error {
	if !e.loop.running.Load() {
		return nil
	}
	end, err := e.store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	return e.followed.wait(ctx, end)
}
