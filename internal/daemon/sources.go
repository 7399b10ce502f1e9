package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
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
	followed milestone  // in the log of outcomes, up to which the loop has been told
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

// AddSource begins to watch a source. It is the store's AddSource, told to the
// loop.
func (e *editor) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
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

// Confirm accepts the version of a source that is held as suspect: it is told as a
// change, and no other look at it is wanted.
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

// tellSource tells the loop how a source now is in the store, after other events.
// Of two edits at once, either may come here first: what is told is not what was
// written but what is there, and nobody else tells in between. So the loop ends
// with what was written last. It returns what is there; nothing if the source was removed.
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

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the sources that come from the configuration file those listed.
// One that is no longer listed is removed, and its history kept. One that was
// added otherwise and is now listed becomes the file's.
//
// Sources can be edited meanwhile. Whoever edits or removes one after Sync has
// begun has the last word: it stays as they left it.
func (e *editor) Sync(ctx context.Context, listed []freshet.Source) (done Synced, err error) {
	e.syncing.Lock()
	defer e.syncing.Unlock()
	byID, byKey, err := e.index(ctx)
	if err != nil {
		return done, err
	}
	var steps []step
	taken := map[freshet.SourceID]bool{}
	for _, s := range listed {
		s.Origin = freshet.FromFile
		have, ok := byID[s.ID]
		if !ok || s.ID == "" {
			have, ok = byKey[sourceKey(s)]
		}
		if !ok {
			taken[s.ID] = true
			steps = append(steps, step{do: e.take, source: s})
			continue
		}
		taken[have.ID] = true
		s.ID, s.Created, s.Revision = have.ID, have.Created, have.Revision
		if equal(s, have) {
			done.Kept++
			continue
		}
		steps = append(steps, step{do: e.alter, source: s})
	}
	e.loading.begin(steps, done.Kept, len(listed), e.log)
	defer e.loading.end()
	did, err := e.perform(ctx, steps, taken)
	done.Added, done.Changed, done.Kept = did.Added, did.Changed, done.Kept+did.Kept
	if err != nil {
		return done, err
	}
	steps = steps[:0]
	for id, s := range byID {
		if s.Origin == freshet.FromFile && !taken[id] {
			steps = append(steps, step{do: e.letGo, source: s})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.source.ID, b.source.ID) })
	did, err = e.perform(ctx, steps, taken)
	done.Removed = did.Removed
	return done, err
}

// A step takes on, alters or lets go of one source, and reports what it did.
type step struct {
	do     func(context.Context, freshet.Source) (Synced, error)
	source freshet.Source
}

// take adds a listed source. One with its URL or ID that was added by somebody
// else meanwhile becomes the file's.
func (e *editor) take(ctx context.Context, s freshet.Source) (Synced, error) {
	if !e.loading.claim(s.ID) {
		return Synced{}, nil // it was removed before it was there
	}
	_, err := e.AddSource(ctx, s)
	e.loading.added(s.ID, err == nil)
	if err != nil {
		return Synced{}, err
	}
	return Synced{Added: 1}, nil
}

// alter makes a source what the list says, unless it was edited or removed since
// the list was compared with the store.
func (e *editor) alter(ctx context.Context, s freshet.Source) (Synced, error) {
	_, err := e.UpdateSource(ctx, s)
	switch {
	case errors.Is(err, freshet.ErrStale), errors.Is(err, freshet.ErrNotFound):
		e.log.Info("a source of the configuration file was edited just now and stays as edited", "source", s.ID, "why", err)
		return Synced{Kept: 1}, nil
	case err != nil:
		return Synced{}, err
	}
	return Synced{Changed: 1}, nil
}

// letGo removes a source that is no longer listed.
func (e *editor) letGo(ctx context.Context, s freshet.Source) (Synced, error) {
	err := e.RemoveSource(ctx, s.ID, false)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return Synced{}, err
	}
	return Synced{Removed: 1}, nil
}

// A few steps are made one after the other, in the order of the list. Of more, many
// are made at once: the store puts the edits of all who call it at the same time
// into one transaction.
const (
	few    = 64
	atOnce = 256
)

// perform makes all steps. Those that are in each other's
// way, because one takes the URL that another gives up, are tried again one by
// one for as long as that helps.
func (e *editor) perform(ctx context.Context, steps []step, taken map[freshet.SourceID]bool) (done Synced, err error) {
	failed := make([]error, len(steps))
	did := make([]Synced, len(steps))
	var next atomic.Int64
	var workers sync.WaitGroup
	crew := 1
	if len(steps) > few {
		crew = atOnce
	}
	for range crew {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(steps)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				did[i], failed[i] = steps[i].do(ctx, steps[i].source)
				e.loading.step()
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	for settled := true; settled; {
		settled = false
		for i := range steps {
			if errors.Is(failed[i], freshet.ErrConflict) {
				did[i], failed[i] = e.settle(ctx, steps[i], taken)
				settled = settled || failed[i] == nil
			}
		}
	}
	for i, st := range steps {
		if err == nil && failed[i] != nil {
			err = fmt.Errorf("source %s: %w", st.source.URL, failed[i])
		}
		done.add(did[i])
	}
	return done, err
}

// settle makes a step once more that was in conflict with another source. If that
// one is not listed and the step was to add one, somebody else has added it
// meanwhile, and it becomes the file's.
func (e *editor) settle(ctx context.Context, st step, taken map[freshet.SourceID]bool) (Synced, error) {
	did, again := st.do(ctx, st.source)
	conflict, ok := errors.AsType[*freshet.ConflictError](again)
	if !ok || st.source.Revision > 0 || taken[conflict.Existing] && conflict.Existing != st.source.ID {
		return did, again
	}
	have, err := e.store.Source(ctx, conflict.Existing)
	if err != nil {
		return did, err
	}
	taken[have.ID] = true
	s := st.source
	s.ID, s.Created, s.Revision = have.ID, have.Created, have.Revision
	return e.alter(ctx, s)
}

// add adds up.
func (s *Synced) add(other Synced) {
	s.Added += other.Added
	s.Changed += other.Changed
	s.Removed += other.Removed
	s.Kept += other.Kept
}

func (e *editor) index(ctx context.Context) (byID map[freshet.SourceID]freshet.Source, byKey map[string]freshet.Source, err error) {
	byID, byKey = map[freshet.SourceID]freshet.Source{}, map[string]freshet.Source{}
	for w, err := range e.store.Sources(ctx) {
		if err != nil {
			return nil, nil, err
		}
		byID[w.ID], byKey[sourceKey(w.Source)] = w.Source, w.Source
	}
	return byID, byKey, nil
}

// sourceKey is equal for sources that the store would not hold twice.
func sourceKey(s freshet.Source) string { return s.URL + "\n" + s.Key() }

// equal reports whether two sources are configured alike.
func equal(a, b freshet.Source) bool {
	return a.Origin == b.Origin && bytes.Equal(a.Definition(), b.Definition())
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

// catchUp returns when the leader has been told of all that is recorded by now.
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

// A loading is how far a Sync is with the sources of the file. Sources that are
// still to be added can be removed meanwhile: then they are not added.
type loading struct {
	mu      sync.Mutex
	done    int
	of      int // zero if no sources are being taken on
	pending map[freshet.SourceID]*arrival
	log     *slog.Logger
	said    time.Time
}

// An arrival is a source that is still to be added.
type arrival struct {
	claimed bool          // it is being added just now
	done    chan struct{} // closed when it has been
}

// begin notes what is to be done, and that so many sources are as they should be.
func (l *loading) begin(steps []step, kept, listed int, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.log, l.said = kept, listed, log, time.Now()
	l.pending = map[freshet.SourceID]*arrival{}
	for _, s := range steps {
		if s.source.Revision == 0 && s.source.ID != "" {
			l.pending[s.source.ID] = &arrival{done: make(chan struct{})}
		}
	}
}

// end notes that nothing more is to be done.
func (l *loading) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.pending = 0, 0, nil
}

// step notes that one more source has been dealt with, and now and then says how
// far it is.
func (l *loading) step() {
	const everySoOften = 2 * time.Second
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = min(l.done+1, l.of)
	if now := time.Now(); now.Sub(l.said) > everySoOften {
		l.said = now
		l.log.Info("loading the sources of the configuration file", "done", l.done, "of", l.of)
	}
}

// progress returns how many sources have been taken on, of how many. Both are
// zero if none are being taken on.
func (l *loading) progress() (done, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.of
}

// claim reports whether a source is still to be added. From then on a removal
// waits until it has been.
func (l *loading) claim(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.pending[id]
	if id == "" || a == nil {
		return id == ""
	}
	a.claimed = true
	return true
}

// added notes that a source that was claimed has been added, or could not be.
func (l *loading) added(id freshet.SourceID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.pending[id]
	if a == nil {
		return
	}
	close(a.done)
	if ok {
		delete(l.pending, id)
	} else {
		l.pending[id] = &arrival{done: make(chan struct{})}
	}
}

// drop keeps a source from being added, if it is still to be, and reports whether
// it did. One that is being added is waited for.
func (l *loading) drop(id freshet.SourceID) bool {
	for {
		l.mu.Lock()
		a := l.pending[id]
		if a == nil || !a.claimed {
			delete(l.pending, id)
			l.mu.Unlock()
			return a != nil
		}
		done := a.done
		l.mu.Unlock()
		<-done
	}
}
