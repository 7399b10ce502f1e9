package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/client"
	"freshet/sink"
)

func (a *api) routeNewest(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "list-newest-changes", Method: http.MethodGet, Path: "/api/v1/changes/newest", Tags: []string{"changes"},
		Summary:     "Read the change log backwards, newest first",
		Description: fmt.Sprintf("Of all sources with a tag, only the last %d changes are looked at.", maxFeedScan),
	}, a.listNewest)
}

type newestInput struct {
	Source freshet.SourceID `query:"source" doc:"Only changes of this source"`
	Tag    string           `query:"tag" doc:"Only changes of sources that had this tag"`
	Before string           `query:"before" doc:"Only changes before this cursor: the next of the previous page"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *api) listNewest(ctx context.Context, in *newestInput) (*bodyOf[client.ChangePage], error) {
	end, err := a.endBefore(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, maxPage)
	var found []freshet.Change
	if in.Source == "" {
		found, err = a.newestUpTo(ctx, end, in.Tag, limit+1)
	} else {
		found, err = a.newestOfSource(ctx, in.Source, end, in.Tag, limit+1)
	}
	if err != nil {
		return nil, err
	}
	page := client.ChangePage{Items: []client.Change{}}
	for i, c := range found {
		if i == limit {
			page.Next = found[i-1].Place()
			break
		}
		page.Items = append(page.Items, sink.ChangeOf(c))
	}
	return &bodyOf[client.ChangePage]{page}, nil
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

// newestOfSource returns the newest changes of a source up to a cursor, the newest first.
func (a *api) newestOfSource(ctx context.Context, id freshet.SourceID, end freshet.Cursor, tag string, limit int) (newest []freshet.Change, err error) {
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
			if c.Cursor <= end && tagged(c, tag) && len(newest) < limit {
				newest = append(newest, c)
			}
		}
		upto = found[len(found)-1].Number - 1
	}
	return newest, nil
}

// newestUpTo returns the newest changes up to a cursor, the newest first, of all sources
// or of those that had a tag. It looks back only so far.
func (a *api) newestUpTo(ctx context.Context, end freshet.Cursor, tag string, limit int) (newest []freshet.Change, err error) {
	const window = 500
	for high := end; high > 0 && end-high < maxFeedScan && len(newest) < limit; high -= window {
		low := max(high-window, 0)
		found, err := a.Store.Changes(ctx, freshet.ChangeQuery{After: low, Limit: window})
		if err != nil {
			return nil, fmt.Errorf("changes after %d: %w", low, err)
		}
		for _, c := range slices.Backward(found) {
			if c.Cursor <= high && tagged(c, tag) && len(newest) < limit {
				newest = append(newest, c)
			}
		}
	}
	return newest, nil
}

// tagged reports whether the source of a change had a tag when it changed; all have "".
func tagged(c freshet.Change, tag string) bool {
	return tag == "" || slices.Contains(c.Label.Tags, tag)
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
