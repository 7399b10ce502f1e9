package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

func (a *api) routeNewest(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "list-newest-changes", Method: http.MethodGet, Path: "/api/v1/changes/newest", Tags: []string{"changes"},
		Summary:     "Read the change log backwards, newest first",
		Description: fmt.Sprintf("Of all sources, one answer looks at no more than %d changes: with a filter a page can have few items, or none, and a next all the same. A next of 0 is the beginning of the log.", maxFeedScan),
	}, a.listNewest)
}

type newestInput struct {
	Before string `query:"before" doc:"Only changes before this cursor: the next of the previous page"`
	Limit  int    `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	ChangeFilter
}

func (a *api) listNewest(ctx context.Context, in *newestInput) (*bodyOf[client.ChangePage], error) {
	end, err := a.endBefore(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	filter, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	limit, low := min(in.Limit, maxPage), freshet.Cursor(1)
	var found []freshet.Change
	if filter.Source == "" {
		found, low, err = a.newestUpTo(ctx, end, filter, limit+1)
	} else {
		found, err = a.newestOfSource(ctx, end, filter, limit+1)
	}
	if err != nil {
		return nil, err
	}
	page := client.ChangePage{Items: []client.Change{}}
	for _, c := range found[:min(len(found), limit)] {
		page.Items = append(page.Items, sinks.ChangeOf(c))
	}
	switch {
	case len(found) > limit:
		page.Next = found[limit-1].Place()
	case low > 1: // what is older was not looked at
		page.Next, err = a.changePlace(ctx, low)
	}
	return &bodyOf[client.ChangePage]{page}, err
}

// endBefore returns the cursor of the last change before a place; "" means the end of the
// log.
func (a *api) endBefore(ctx context.Context, before string) (freshet.Cursor, error) {
	if before == "" {
		end, err := a.Store.LastChange(ctx)
		if err != nil {
			return 0, fmt.Errorf("end of the change log: %w", err)
		}
		return end, nil
	}
	place, err := parsePlace("query.before", before)
	if err != nil {
		return 0, err
	}
	at, err := a.findChange(ctx, place)
	return at - 1, err
}

// newestOfSource returns the newest changes of one source up to a cursor, the newest first.
func (a *api) newestOfSource(ctx context.Context, end freshet.Cursor, filter ChangeFilter, limit int) (newest []freshet.Change, err error) {
	id, wish := filter.Source, wishOf(filter, a.Store)
	w, err := a.Store.Source(ctx, id)
	if err != nil {
		return nil, ofSource(id, err)
	}
	for upto := w.Standing.Head.Number; len(newest) < limit; {
		found, err := a.newestOf(ctx, id, upto, limit)
		if err != nil || len(found) == 0 {
			return newest, err
		}
		for _, c := range found {
			if c.Cursor > end || len(newest) == limit {
				continue
			}
			if ok, err := wish.hasSeen(ctx, c); err != nil {
				return nil, err
			} else if ok {
				newest = append(newest, c)
			}
		}
		upto = found[len(found)-1].Number - 1
	}
	return newest, nil
}

// newestUpTo returns the newest changes up to a cursor, the newest first. It looks back
// only so far, and returns where it ended: all that comes later was looked at.
func (a *api) newestUpTo(ctx context.Context, end freshet.Cursor, filter ChangeFilter, limit int) (newest []freshet.Change, low freshet.Cursor, err error) {
	wish, page := wishOf(filter, a.Store), limit
	if wish.picky() {
		page = max(limit, atOnce)
	}
	for high, looked := end, 0; high > 0; {
		found, err := a.Store.Changes(ctx, freshet.ChangeQuery{Newest: true, After: high + 1, Seen: filter.seen, Limit: page})
		if err != nil {
			return nil, 0, fmt.Errorf("changes up to %d: %w", high, err)
		}
		for _, c := range found {
			high = c.Cursor - 1
			if ok, err := wish.has(ctx, c); err != nil {
				return nil, 0, err
			} else if ok {
				newest = append(newest, c)
			}
			if len(newest) == limit {
				return newest, high + 1, nil
			}
		}
		if looked += len(found); len(found) < page {
			break
		}
		if looked >= maxFeedScan {
			return newest, high + 1, nil
		}
	}
	return newest, 1, nil
}

// newestOf returns the newest changes of a source that led to versions with numbers of at
// most upto, the newest first.
func (a *api) newestOf(ctx context.Context, id freshet.SourceID, upto, limit int) ([]freshet.Change, error) {
	for span := 2 * limit; upto > 0; span *= 4 { // some versions were never told
		found, err := a.Store.Changes(ctx, freshet.ChangeQuery{Source: id, Above: max(upto-span, 0), Upto: upto})
		if err != nil {
			return nil, ofSource(id, err)
		}
		if len(found) >= limit || upto-span <= 0 {
			slices.Reverse(found)
			return found[:min(limit, len(found))], nil
		}
	}
	return nil, nil
}
