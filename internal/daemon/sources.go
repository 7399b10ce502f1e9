package daemon

import (
	"context"
	"errors"

	"freshet/internal/freshet"
	"freshet/internal/sched"
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
		err = d.purge(ctx, []freshet.SourceID{id}, func() error { return d.census.purge(ctx, d.cfg.Store, id) })
	} else {
		err = d.census.edit(-1, func() (freshet.SourceID, error) { return id, d.cfg.Store.RemoveSource(ctx, id, false) })
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
		d.brain.recallNow(d.dates.Now(), d.Limits()).standing(&w.Standing)
		w = d.brain.bounded(w)
		events = append(events, sched.SourcePut{Source: w})
	}
	d.expected.forget(id)
	d.inbox.post(events...)
	return nil
}
