package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"freshet/internal/freshet"
)

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
