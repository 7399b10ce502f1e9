package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/client"
)

// maxPage is the most items that a page holds.
const maxPage = 1000

// outcomeOf returns an outcome as the API tells it.
func outcomeOf(o freshet.Outcome) client.Outcome {
	return client.Outcome{
		Cursor: o.Cursor, Source: o.Source, Cause: o.Cause.String(),
		Since: utc(o.Since), Began: utc(o.Began), Ended: utc(o.Ended),
		Result: o.Result.String(), Version: o.Version, Status: o.Status,
		Requests: o.Requests, Bytes: o.Bytes, Modified: utc(o.Modified), NotBefore: utc(o.NotBefore),
		Failure: o.Failure, Error: o.Err,
	}
}

func (a *api) routeOutcomes(h huma.API) {
	tags := []string{"outcomes"}
	route(h, a, huma.Operation{
		OperationID: "list-outcomes", Method: http.MethodGet, Path: "/api/v1/outcomes", Tags: tags,
		Summary: "Read the log of all polls, the oldest first or the newest first",
	}, a.listOutcomes)
	route(h, a, huma.Operation{
		OperationID: "list-source-outcomes", Method: http.MethodGet, Path: "/api/v1/sources/{id}/outcomes", Tags: tags,
		Summary: "List the polls of a source, the newest first",
	}, a.listSourceOutcomes)
}

type listOutcomesInput struct {
	After  freshet.Cursor `query:"after" minimum:"0" doc:"Begin after this cursor"`
	Newest bool           `query:"newest" doc:"The newest first, going back"`
	Before freshet.Cursor `query:"before" minimum:"0" doc:"With newest: only those before this cursor; 0 means from the end"`
	Limit  int            `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *api) listOutcomes(ctx context.Context, in *listOutcomesInput) (*bodyOf[client.OutcomePage], error) {
	q := freshet.OutcomeQuery{After: in.After, Limit: min(in.Limit, maxPage)}
	page := client.OutcomePage{Items: []client.Outcome{}, Next: in.After}
	if in.Newest {
		q.After, q.Newest, page.Next = in.Before, true, 0
	}
	outcomes, err := a.Store.Outcomes(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		page.Items = append(page.Items, outcomeOf(o))
		page.Next = o.Cursor
	}
	if in.Newest && len(outcomes) < q.Limit {
		page.Next = 0
	}
	return &bodyOf[client.OutcomePage]{page}, nil
}

type listSourceOutcomesInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"Of the source"`
	Before freshet.Cursor   `query:"before" minimum:"0" doc:"Only those before this cursor; 0 means from the newest"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *api) listSourceOutcomes(ctx context.Context, in *listSourceOutcomesInput) (*bodyOf[client.OutcomeHistory], error) {
	limit := min(in.Limit, maxPage)
	outcomes, err := a.Store.Outcomes(ctx, freshet.OutcomeQuery{Source: in.ID, After: in.Before, Newest: true, Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	if len(outcomes) == 0 {
		if err := a.known(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	page := client.OutcomeHistory{Items: []client.Outcome{}}
	for i, o := range outcomes {
		if i == limit {
			page.Next = &page.Items[limit-1].Cursor
			break
		}
		page.Items = append(page.Items, outcomeOf(o))
	}
	return &bodyOf[client.OutcomeHistory]{page}, nil
}
