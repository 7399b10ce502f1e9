package delivery

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// end returns where the stream ends that the sink follows.
func (f *Follower) end(ctx context.Context) (freshet.Cursor, error) {
	if f.cfg.Stream == sinks.StreamBatches {
		return f.cfg.Store.Queries.LastBatch(ctx)
	}
	return f.cfg.Store.LastChange(ctx)
}

// wait returns when the stream goes on after a place.
func (f *Follower) wait(ctx context.Context, after freshet.Cursor) error {
	if f.cfg.Stream == sinks.StreamBatches {
		return f.cfg.Store.Queries.WaitBatch(ctx, after)
	}
	return f.cfg.Store.Wait(ctx, after)
}

// A page is part of the stream.
type page struct {
	to     freshet.Cursor          // its last entry; zero if there is none
	full   bool                    // there may be more
	wanted []sinks.PendingDelivery // with no message yet
}

// read returns what comes after a place, and what the sink wants of it.
func (f *Follower) read(ctx context.Context, after freshet.Cursor) (p page, err error) {
	if f.cfg.Stream == sinks.StreamBatches {
		batches, err := f.cfg.Store.Queries.Batches(ctx, queries.MatchQuery{After: after, Limit: readLimit})
		for _, one := range batches {
			p.to = one.Cursor
			if f.cfg.WantsBatch(one) {
				p.wanted = append(p.wanted, sinks.PendingDelivery{Batch: one, Event: one.ID()})
			}
		}
		p.full = len(batches) == readLimit
		return p, err
	}
	changes, err := f.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: after, Limit: readLimit})
	for _, c := range changes {
		p.to = c.Cursor
		if f.cfg.Wants(c) {
			p.wanted = append(p.wanted, sinks.PendingDelivery{Change: c, Source: c.Source})
		}
	}
	p.full = len(changes) == readLimit
	return p, err
}

// render fills in what is sent of a debt.
func (f *Follower) render(ctx context.Context, d *sinks.PendingDelivery) (err error) {
	if d.Batch.Cursor == 0 {
		d.Body, err = f.cfg.Render(ctx, d.Change)
		return err
	}
	if d.Batch.To == 0 { // it is known by its name only
		return fmt.Errorf("query %s was removed before the message could be made", d.Batch.Query)
	}
	source, body, err := f.cfg.RenderBatch(ctx, d.Batch)
	if errors.Is(err, freshet.ErrNotFound) {
		err = fmt.Errorf("query %s was removed before the message could be made", d.Batch.Query)
	}
	d.Source, d.Body = source, body
	return err
}

// Owe puts on record what the sink is owed of all that there is by now, without sending it.
func (f *Follower) Owe(ctx context.Context) error {
	at, err := f.place(ctx)
	if err != nil {
		return err
	}
	r := newRound(f, at)
	for more := true; more && err == nil; {
		more, err = r.read(ctx)
	}
	return err
}
