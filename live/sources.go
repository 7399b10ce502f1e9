package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet"
	"freshet/sched"
)

// AddSource begins to watch a source. It is the store's AddSource, told to the
// loop.
func (d *Daemon) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
	err := d.census.edit(1, func() (id freshet.SourceID, err error) {
		s, err = d.cfg.Store.AddSource(ctx, s)
		return s.ID, err
	})
	if err != nil {
		return s, err
	}
	return s, d.tellSource(ctx, s.ID)
}

// UpdateSource changes a watched source.
func (d *Daemon) UpdateSource(ctx context.Context, s freshet.Source) error {
	if err := d.cfg.Store.UpdateSource(ctx, s); err != nil {
		return err
	}
	return d.tellSource(ctx, s.ID)
}

// RemoveSource stops watching a source, and deletes its history if purge is set.
func (d *Daemon) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	var err error
	if purge {
		err = d.census.purge(ctx, d.cfg.Store, id)
	} else {
		err = d.census.edit(-1, func() (freshet.SourceID, error) { return id, d.cfg.Store.RemoveSource(ctx, id, false) })
	}
	if err != nil {
		return err
	}
	return d.tellSource(ctx, id, sched.Event{Remove: id})
}

// tellSource tells the loop how a source now is in the store, after other events.
// Of two edits at once, either may come here first: what is told is not what was
// written but what is there, and nobody else tells in between. So the loop ends
// with what was written last.
func (d *Daemon) tellSource(ctx context.Context, id freshet.SourceID, events ...sched.Event) error {
	d.editing.Lock()
	defer d.editing.Unlock()
	// An edit that is on record must reach the loop, whoever has gone meanwhile.
	w, err := d.cfg.Store.Source(context.WithoutCancel(ctx), id)
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		events = append(events, sched.Event{Remove: id})
	case err != nil:
		return err
	default:
		d.levels.notice(w.Source)
		d.brain.recallNow(d.dates.Now(), d.Limits()).standing(&w.Standing)
		events = append(events, sched.Event{Put: &w})
	}
	d.inbox.post(events...)
	return nil
}

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the sources that come from the configuration file those listed.
// One that is no longer listed is removed, and its history kept. One that was
// added otherwise and is now listed becomes the file's.
func (d *Daemon) Sync(ctx context.Context, listed []freshet.Source) (done Synced, err error) {
	byID, byKey, err := d.index(ctx)
	if err != nil {
		return done, err
	}
	wanted := map[freshet.SourceID]bool{}
	for _, s := range listed {
		s.Origin = freshet.FromFile
		have, ok := byID[s.ID]
		if !ok || s.ID == "" {
			have, ok = byKey[sourceKey(s)]
		}
		if !ok {
			added, err := d.AddSource(ctx, s)
			if err != nil {
				return done, fmt.Errorf("source %s: %w", s.URL, err)
			}
			wanted[added.ID] = true
			done.Added++
			continue
		}
		wanted[have.ID] = true
		s.ID, s.Created = have.ID, have.Created
		if equal(s, have) {
			done.Kept++
			continue
		}
		if err := d.UpdateSource(ctx, s); err != nil {
			return done, fmt.Errorf("source %s: %w", s.URL, err)
		}
		done.Changed++
	}
	for id, s := range byID {
		if s.Origin == freshet.FromFile && !wanted[id] {
			if err := d.RemoveSource(ctx, id, false); err != nil {
				return done, fmt.Errorf("source %s: %w", s.URL, err)
			}
			done.Removed++
		}
	}
	return done, nil
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
func sourceKey(s freshet.Source) string { return s.URL + "\n" + s.Recipe.Key() }

// equal reports whether two sources are configured alike.
func equal(a, b freshet.Source) bool {
	sameTags := slices.Equal(a.Tags, b.Tags)
	a.Tags, b.Tags = nil, nil
	a.Created, b.Created, a.Revision, b.Revision = time.Time{}, time.Time{}, 0, 0
	return sameTags && fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}
