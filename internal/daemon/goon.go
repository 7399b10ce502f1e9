package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"freshet/internal/freshet"
)

// heedEdits takes in sources as they are in a store, and reports whether any differs from what was
// known.
func (d *Daemon) heedEdits(ctx context.Context, store freshet.Catalog, ids []freshet.SourceID) (edited bool, err error) {
	wanted := map[freshet.SourceID]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	delete(wanted, "") // that is no source
	for some := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), followAtOnce) {
		found, err := store.NamedSources(ctx, some, false)
		if err != nil {
			return edited, fmt.Errorf("read the sources that were edited: %w", err)
		}
		for _, s := range found {
			delete(wanted, s.ID)
			edited = d.heedEdit(s) || edited
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) { // they are not watched any more
		if _, known := d.brain.sched.Slot(id); known {
			d.sites.forget(id)
			d.brain.sched.Remove(id)
			edited = true
		}
	}
	return edited, nil
}

// heedEdit takes in a source as it is now, and reports whether it differs from what was known.
func (d *Daemon) heedEdit(s freshet.Watched) bool {
	if slot, known := d.brain.sched.Slot(s.ID); known {
		if was, _ := d.brain.sched.Source(slot); was.Revision == s.Revision {
			return false
		}
	}
	now := d.dates.Now()
	d.notice(s.Source)
	d.brain.recallNow(now, d.Limits()).standing(&s.Standing)
	d.brain.sched.Put(now, d.brain.bounded(s))
	return true
}

// goOn takes over what a Warm knows. What was edited since it was taken is taken in, too.
func (d *Daemon) goOn(ctx context.Context, w *Warm) (freshet.Cursor, *recall, error) {
	w.mu.Lock()
	from := w.daemon
	w.mu.Unlock()
	if from == nil {
		return 0, nil, errors.New("what was followed is not there any more")
	}
	d.inherit(from)
	l := d.inForce()
	r, err := d.brain.recaller(ctx, l)
	if err != nil {
		return 0, nil, err
	}
	s := d.brain.sched
	s.SetLimits(r.now, l)
	if now := d.levels.tags(); len(now)+len(from.levels.tags()) > 0 {
		s.SetLevels(r.now, now)
	}
	if now := d.strategies.tags(); len(now)+len(from.strategies.tags()) > 0 && !d.brain.unbound {
		s.SetStrategies(r.now, now)
	}
	w.mu.Lock()
	w.daemon = d
	w.mu.Unlock()
	if err := w.step(ctx, d.cfg.Store); err != nil {
		return 0, nil, err
	}
	if err := d.brain.recallChances(ctx); err != nil {
		return 0, nil, err
	}
	if err := d.brain.recallStakes(ctx, r.now); err != nil {
		return 0, nil, err
	}
	if err := d.brain.findCheckpoints(ctx); err != nil {
		return 0, nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.daemon = nil // from here on it is told by its own loop
	return w.place, r, nil
}

// inherit takes over what another daemon has learnt and noticed of sources.
func (d *Daemon) inherit(from *Daemon) {
	d.brain.sched = from.brain.sched
	if from.levels.any.Load() {
		d.levels.any.Store(true)
	}
	from.voices.mu.Lock()
	d.voices.watched, d.voices.alias = from.voices.watched, from.voices.alias
	from.voices.mu.Unlock()
	from.sites.mu.Lock()
	d.sites.all = from.sites.all
	from.sites.mu.Unlock()
	from.stakes.mu.Lock()
	d.stakes.importance, d.stakes.of, d.stakes.matches, d.stakes.changes = from.stakes.importance, from.stakes.of, from.stakes.matches, from.stakes.changes
	from.stakes.mu.Unlock()
}
