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
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// AddSource begins to watch a source. It is the store's AddSource, told to the
// loop.
func (d *Daemon) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
	err := d.counts.edit(1, func() (id freshet.SourceID, err error) {
		s, err = d.cfg.Store.AddSource(ctx, s)
		return s.ID, err
	})
	if err != nil {
		return s, err
	}
	d.boundSet(s.Keep)
	if err := d.tellSource(ctx, s.ID); err != nil {
		return s, err
	}
	return s, d.tellChances(ctx, s.ID, false) // that were given before it was removed
}

// UpdateSource changes a watched source.
func (d *Daemon) UpdateSource(ctx context.Context, s freshet.Source) error {
	if s.Site != nil || d.sites.has(s.ID) {
		return d.updateSite(ctx, s)
	}
	if err := d.cfg.Store.UpdateSource(ctx, s); err != nil {
		return err
	}
	d.boundSet(s.Keep)
	return d.tellSource(ctx, s.ID)
}

// Confirm accepts the version of a source that is held as suspect: it is told as a
// change, and no other look at it is wanted.
func (d *Daemon) Confirm(ctx context.Context, id freshet.SourceID, number int) (freshet.Change, error) {
	c, err := d.cfg.Store.Confirm(ctx, id, number)
	if err != nil {
		return c, err
	}
	d.cfg.Log.Info("confirmed", "source", id, "version", number, "seq", c.Seq, "cursor", c.Cursor, "summary", c.Summary)
	return c, nil
}

// RemoveSource stops watching a source, and deletes its history if purge is set.
func (d *Daemon) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	if d.sites.has(id) {
		return d.removeSite(ctx, id, purge)
	}
	var err error
	dropped := d.loading.drop(id)
	if purge {
		err = d.purge(ctx, []freshet.SourceID{id}, func() error { return d.counts.purge(ctx, d.cfg.Store, id) })
	} else {
		err = d.counts.edit(-1, func() (freshet.SourceID, error) { return id, d.cfg.Store.RemoveSource(ctx, id, false) })
	}
	if err != nil && !(dropped && errors.Is(err, freshet.ErrNotFound)) {
		return err
	}
	return d.tellSource(ctx, id, sched.SourceRemoved{Source: id})
}

// tellSource tells the loop how a source now is in the store, after other events.
// Of two edits at once, either may come here first: what is told is not what was
// written but what is there, and nobody else tells in between. So the loop ends
// with what was written last.
func (d *Daemon) tellSource(ctx context.Context, id freshet.SourceID, events ...sched.Event) error {
	defer d.editing.pass(alone)()
	// An edit that is on record must reach the loop, whoever has gone meanwhile.
	w, err := d.cfg.Store.Source(context.WithoutCancel(ctx), id)
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		d.sites.forget(id)
		events = append(events, sched.SourceRemoved{Source: id})
	case err != nil:
		return err
	default:
		d.notice(w.Source)
		d.leader.clockRecoveryAt(d.dates.Now(), d.Limits()).standing(&w.Standing)
		w = d.leader.bounded(w)
		events = append(events, sched.SourcePut{Source: w})
	}
	d.expected.forget(id)
	d.inbox.post(events...)
	return nil
}

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the sources that come from the configuration file those listed.
// One that is no longer listed is removed, and its history kept. One that was
// added otherwise and is now listed becomes the file's.
//
// Sources can be edited meanwhile. Whoever edits or removes one after Sync has
// begun has the last word: it stays as they left it.
func (d *Daemon) Sync(ctx context.Context, listed []freshet.Source) (done Synced, err error) {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	byID, byKey, err := d.index(ctx)
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
			steps = append(steps, step{do: d.take, source: s})
			continue
		}
		taken[have.ID] = true
		s.ID, s.Created, s.Revision = have.ID, have.Created, have.Revision
		if equal(s, have) {
			done.Kept++
			continue
		}
		steps = append(steps, step{do: d.alter, source: s})
	}
	d.loading.begin(steps, done.Kept, len(listed), d.cfg.Log)
	defer d.loading.end()
	did, err := d.perform(ctx, steps, taken)
	done.Added, done.Changed, done.Kept = did.Added, did.Changed, done.Kept+did.Kept
	if err != nil {
		return done, err
	}
	steps = steps[:0]
	for id, s := range byID {
		if s.Origin == freshet.FromFile && !taken[id] {
			steps = append(steps, step{do: d.letGo, source: s})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.source.ID, b.source.ID) })
	did, err = d.perform(ctx, steps, taken)
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
func (d *Daemon) take(ctx context.Context, s freshet.Source) (Synced, error) {
	if !d.loading.claim(s.ID) {
		return Synced{}, nil // it was removed before it was there
	}
	_, err := d.AddSource(ctx, s)
	d.loading.added(s.ID, err == nil)
	if err != nil {
		return Synced{}, err
	}
	return Synced{Added: 1}, nil
}

// alter makes a source what the list says, unless it was edited or removed since
// the list was compared with the store.
func (d *Daemon) alter(ctx context.Context, s freshet.Source) (Synced, error) {
	err := d.UpdateSource(ctx, s)
	switch {
	case errors.Is(err, freshet.ErrStale), errors.Is(err, freshet.ErrNotFound):
		d.cfg.Log.Info("a source of the configuration file was edited just now and stays as edited", "source", s.ID, "why", err)
		return Synced{Kept: 1}, nil
	case err != nil:
		return Synced{}, err
	}
	return Synced{Changed: 1}, nil
}

// letGo removes a source that is no longer listed.
func (d *Daemon) letGo(ctx context.Context, s freshet.Source) (Synced, error) {
	err := d.RemoveSource(ctx, s.ID, false)
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
func (d *Daemon) perform(ctx context.Context, steps []step, taken map[freshet.SourceID]bool) (done Synced, err error) {
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
				d.loading.step()
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
				did[i], failed[i] = d.settle(ctx, steps[i], taken)
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
func (d *Daemon) settle(ctx context.Context, st step, taken map[freshet.SourceID]bool) (Synced, error) {
	did, again := st.do(ctx, st.source)
	conflict, ok := errors.AsType[*freshet.ConflictError](again)
	if !ok || st.source.Revision > 0 || taken[conflict.Existing] && conflict.Existing != st.source.ID {
		return did, again
	}
	have, err := d.cfg.Store.Source(ctx, conflict.Existing)
	if err != nil {
		return did, err
	}
	taken[have.ID] = true
	s := st.source
	s.ID, s.Created, s.Revision = have.ID, have.Created, have.Revision
	return d.alter(ctx, s)
}

// add adds up.
func (s *Synced) add(other Synced) {
	s.Added += other.Added
	s.Changed += other.Changed
	s.Removed += other.Removed
	s.Kept += other.Kept
}

func (d *Daemon) index(ctx context.Context) (byID map[freshet.SourceID]freshet.Source, byKey map[string]freshet.Source, err error) {
	byID, byKey = map[freshet.SourceID]freshet.Source{}, map[string]freshet.Source{}
	for w, err := range d.cfg.Store.Sources(ctx) {
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

// IndexTrusts returns how far the indexes of a site can be believed, as far as they have
// spoken. There is nothing if nothing is learnt.
func (d *Daemon) IndexTrusts(ctx context.Context, site freshet.SourceID) (map[freshet.SourceID]learn.IndexTrust, error) {
	found := map[freshet.SourceID]learn.IndexTrust{}
	if d.leader.learner == nil {
		return found, nil
	}
	err := d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) {
		for slot, source := range s.All() {
			if source.ID != site && (source.Of != site || !source.Index) {
				continue
			}
			if trust, ok := d.leader.learner.IndexTrust(slot); ok {
				found[source.ID] = trust
			}
		}
	})
	return found, err
}
