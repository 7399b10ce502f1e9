package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/client"
	"freshet/sink"
)

// maxChangeWait is the longest that a long poll waits.
const maxChangeWait = time.Minute

func (a *api) routeChanges(h huma.API) {
	tags := []string{"changes"}
	route(h, a, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/api/v1/changes", Tags: tags,
		Summary: "Read the change log, oldest first",
		Description: "With wait, the response is delayed until there is a change or the wait is over. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
	}, a.listChanges)
	a.routeStream(h, tags)
}

type listChangesInput struct {
	After  string           `query:"after" doc:"Only changes after this cursor; 0 means from the beginning"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait   string           `query:"wait" doc:"How long to wait if there is no change, such as 10s; more than 60s means 60s"`
	Source freshet.SourceID `query:"source" doc:"Only changes of this source"`
}

func (a *api) listChanges(ctx context.Context, in *listChangesInput) (*bodyOf[client.ChangePage], error) {
	wait, err := waitOf(in.Wait, maxChangeWait)
	if err != nil {
		return nil, err
	}
	place, err := parsePlace("query.after", in.After)
	if err != nil {
		return nil, err
	}
	after, err := a.findChange(ctx, place)
	if err != nil {
		return nil, err
	}
	waiting, cancel := a.patience(ctx, wait)
	defer cancel()
	page := &bodyOf[client.ChangePage]{client.ChangePage{Items: []client.Change{}, Next: place}}
	tail := tail{store: a.Store, at: after, source: in.Source}
	changes, err := tail.read(ctx, min(in.Limit, maxPage))
	for err == nil && len(changes) == 0 && wait > 0 {
		if err := a.Store.Wait(waiting, tail.at); errors.Is(err, errWaited) {
			return page, nil
		} else if err != nil {
			return nil, err
		}
		changes, err = tail.read(ctx, min(in.Limit, maxPage))
	}
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		page.Body.Items = append(page.Body.Items, sink.ChangeOf(c))
		page.Body.Next = c.Place()
	}
	return page, nil
}

// A tail reads on from a place in the change log.
type tail struct {
	store  freshet.ChangeLog
	at     freshet.Cursor   // everything up to here has been read
	source freshet.SourceID // "" means all
}

// read returns the next changes. If there are none it has moved over those of
// other sources, so that only a later change wakes who waits at its place.
func (t *tail) read(ctx context.Context, limit int) ([]freshet.Change, error) {
	end, err := t.store.LastChange(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the change log: %w", err)
	}
	changes, err := t.store.Changes(ctx, freshet.ChangeQuery{After: t.at, Source: t.source, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("changes after %d: %w", t.at, err)
	}
	if len(changes) > 0 {
		t.at = changes[len(changes)-1].Cursor
	} else {
		t.at = max(t.at, end)
	}
	return changes, nil
}
