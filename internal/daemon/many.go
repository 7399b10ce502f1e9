package daemon

import (
	"cmp"
	"context"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// MostAtOnce is the largest number of edits in a transaction. The loop gets them in one message.
const MostAtOnce = 500

// AddSources adds many sources in one transaction: none is added if err is not nil. Refused has the
// error with which AddSource would refuse each source; refused sources do not affect the others.
func (e *editor) AddSources(ctx context.Context, list []freshet.Source) (added []freshet.Source, refused []error, err error) {
	leave := e.counts.counting.pass(1)
	for i := range list {
		list[i].Noise = cmp.Or(list[i].Noise, freshet.NoiseAuto)
	}
	added, refused, err = e.store.AddSources(ctx, list)
	if err != nil {
		leave()
		return nil, refused, err
	}
	var ids, again []freshet.SourceID
	for i, s := range added {
		if refused[i] != nil {
			continue
		}
		e.counts.add(s.ID, 1)
		e.pruner.boundSet(s.Keep)
		if ids = append(ids, s.ID); s.Revision > 1 {
			again = append(again, s.ID)
		}
	}
	leave()
	if err := e.tellMany(ctx, ids); err != nil {
		return added, refused, err
	}
	for _, id := range again { // forecasts that users gave before the source was removed
		if err := e.imports.tellChances(ctx, id, false); err != nil {
			return added, refused, err
		}
	}
	return added, refused, nil
}

// UpdateSources updates many sources in one transaction, like AddSources. It refuses sites and
// their pages.
func (e *editor) UpdateSources(ctx context.Context, list []freshet.Source) (refused []error, err error) {
	refused, err = e.store.UpdateSources(ctx, list)
	if err != nil {
		return refused, err
	}
	var ids []freshet.SourceID
	for i, s := range list {
		if refused[i] == nil {
			e.pruner.boundSet(s.Keep)
			ids = append(ids, s.ID)
		}
	}
	return refused, e.tellMany(ctx, ids)
}

// RemoveSources removes many sources in one transaction, like AddSources. Their history stays. It
// refuses sites and their pages.
func (e *editor) RemoveSources(ctx context.Context, ids []freshet.SourceID) (refused []error, err error) {
	for _, id := range ids {
		e.loading.drop(id)
	}
	leave := e.counts.counting.pass(1)
	refused, err = e.store.RemoveSources(ctx, ids)
	if err != nil {
		leave()
		return refused, err
	}
	var gone []freshet.SourceID
	for i, id := range ids {
		if refused[i] == nil {
			e.counts.add(id, -1)
			gone = append(gone, id)
		}
	}
	leave()
	return refused, e.tellMany(ctx, gone)
}

// tellMany sends the current state of sources that were edited together to the loop.
func (e *editor) tellMany(ctx context.Context, ids []freshet.SourceID) error {
	defer e.editing.pass(alone)()
	there, err := e.store.NamedSources(context.WithoutCancel(ctx), ids, false)
	if err != nil {
		return err
	}
	watched := make(map[freshet.SourceID]bool, len(there))
	events := make([]sched.Event, 0, len(ids))
	recovery := e.clock.clockRecoveryAt(e.loop.dates.Now(), e.limits.Limits())
	for _, w := range there {
		watched[w.ID] = true
		e.notice(w.Source)
		recovery.standing(&w.Status)
		events = append(events, sched.SourcePut{Source: bounded(w, e.unbound)})
	}
	for _, id := range ids {
		if !watched[id] {
			e.sites.forget(id)
			events = append(events, sched.SourceRemoved{Source: id})
		}
		e.nextPolls.forget(id)
	}
	e.loop.post(events...)
	return nil
}
