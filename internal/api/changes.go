package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

// atOnce is how many changes are read at once where not all are wanted.
const atOnce = 500

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
	After string `query:"after" doc:"Only changes after this cursor; 0 means from the beginning"`
	Limit int    `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait  string `query:"wait" doc:"How long to wait if there is no change, such as 10s; more than 60s means 60s"`
	ChangeFilter
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
	which, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	tail := tail{store: a.Store, at: after, which: which}
	changes, err := tail.read(ctx, min(in.Limit, maxPage))
	for err == nil && len(changes) == 0 && wait > 0 {
		if err := a.Store.Wait(waiting, tail.at); errors.Is(err, errWaited) {
			break
		} else if err != nil {
			return nil, err
		}
		changes, err = tail.read(ctx, min(in.Limit, maxPage))
	}
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		page.Body.Items = append(page.Body.Items, sinks.ChangeOf(c))
		page.Body.Next = c.Place()
	}
	if len(changes) == 0 && tail.at > after { // who asks again need not go over the same ones
		page.Body.Next, err = a.changePlace(ctx, tail.at)
	}
	return page, err
}

// A tail reads on from a place in the change log.
type tail struct {
	store freshet.Store
	at    freshet.Cursor // everything up to here has been read
	which ChangeFilter
}

// read returns the next changes that are wanted. If there are none it has moved over the
// others, so that only a later change wakes who waits at its place.
func (t *tail) read(ctx context.Context, limit int) (found []freshet.Change, err error) {
	end, err := t.store.LastChange(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the change log: %w", err)
	}
	w, page := wishOf(t.which, t.store), limit
	if w.picky() {
		page = max(limit, atOnce)
	}
	for {
		changes, err := t.store.Changes(ctx, freshet.ChangeQuery{After: t.at, Source: t.which.Source, Seen: t.which.seen, Limit: page})
		if err != nil {
			return nil, fmt.Errorf("changes after %d: %w", t.at, err)
		}
		for _, c := range changes {
			t.at = c.Cursor
			if ok, err := w.has(ctx, c); err != nil {
				return nil, err
			} else if ok {
				if found = append(found, c); len(found) == limit {
					return found, nil
				}
			}
		}
		if len(changes) < page {
			if len(found) == 0 {
				t.at = max(t.at, end)
			}
			return found, nil
		}
	}
}
