package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// outcomeOf returns an outcome as the API tells it.
func outcomeOf(o freshet.Outcome, epochs freshet.Epochs) client.Outcome {
	return client.Outcome{
		Cursor: epochs.Place(o.Cursor), Source: o.Source, Cause: o.Cause.String(),
		Since: rest.UTC(o.Since), Pushed: rest.UTC(o.Pushed), Began: rest.UTC(o.Began), Ended: rest.UTC(o.Ended),
		Result: o.Result.String(), Version: o.Version, Quiet: o.Quiet, LookAgain: client.Duration(o.LookAgain), Status: o.Status,
		Requests: o.Requests, Route: o.Route.Hosts(), Bytes: o.Bytes, Modified: rest.UTC(o.Modified), NotBefore: rest.UTC(o.NotBefore),
		FreshFor: client.Duration(o.FreshFor), Suspect: client.SuspectOf(o.Suspect, o.Landed), LandedOn: mask.URL(o.Landed),
		Failure: o.Failure, Error: mask.Text(o.Err), Dates: o.Dates, Word: client.WordOf(o.Word), Foretold: client.ForetellingOf(o.Foretold),
	}
}

func (a *changeAPI) routeOutcomes() {
	tags := []string{"outcomes"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-outcomes", Method: http.MethodGet, Path: "/api/v1/outcomes", Tags: tags,
		Summary: "Read the log of all polls, oldest or newest first",
	}, a.listOutcomes)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-source-outcomes", Method: http.MethodGet, Path: "/api/v1/sources/{id}/outcomes", Tags: tags,
		Summary: "List the polls of a source, newest first",
	}, a.listSourceOutcomes)
}

type listOutcomesInput struct {
	After  string `query:"after" doc:"Only polls after this cursor; 0 means from the beginning"`
	Newest bool   `query:"newest" doc:"Newest first"`
	Before string `query:"before" doc:"With newest: only polls before this cursor; 0 means from the end"`
	Limit  int    `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait   string `query:"wait" doc:"How long to wait if there is no outcome after the cursor, such as 10s; more than 60s means 60s. Not with newest"`
}

func (a *changeAPI) listOutcomes(ctx context.Context, in *listOutcomesInput) (*rest.Body[client.OutcomePage], error) {
	place, after, err := a.FindOutcome(ctx, a.store, "query.after", in.After)
	if err != nil {
		return nil, err
	}
	_, before, err := a.FindOutcome(ctx, a.store, "query.before", in.Before)
	if err != nil {
		return nil, err
	}
	q := freshet.OutcomeQuery{After: after, Limit: min(in.Limit, rest.MaxPage)}
	page := client.OutcomePage{Items: []client.Outcome{}, Next: place}
	if in.Newest {
		q.After, q.Newest, page.Next = before, true, freshet.Place{}
	}
	wait, err := rest.ParseWait(in.Wait, maxChangeWait)
	if err != nil {
		return nil, err
	}
	if wait > 0 && !in.Newest {
		waiting, cancel := a.WithWait(ctx, wait)
		defer cancel()
		if err := a.store.WaitOutcome(waiting, after); err != nil && !errors.Is(err, rest.ErrWaited) {
			return nil, err
		}
	}
	found, err := a.readOutcomes(ctx, q)
	if err != nil {
		return nil, err
	}
	page.Items = append(page.Items, found...)
	switch n := len(found); {
	case in.Newest && n < q.Limit:
		page.Next = freshet.Place{}
	case n > 0:
		page.Next = found[n-1].Cursor
	}
	return rest.Reply(page), nil
}

// readOutcomes returns outcomes. It reads them in parts, and keeps of each only what is returned,
// because what sources said can be long.
func (a *changeAPI) readOutcomes(ctx context.Context, q freshet.OutcomeQuery) (found []client.Outcome, err error) {
	for most := q.Limit; ; q.Limit = most - len(found) {
		part, err := a.store.Outcomes(ctx, q)
		if err != nil {
			return nil, err
		}
		epochs, err := a.store.OutcomeEpochs(ctx)
		if err != nil {
			return nil, err
		}
		said := false
		for _, o := range part {
			found = append(found, outcomeOf(o, epochs))
			q.After, said = o.Cursor, said || o.Word != nil
		}
		if !said || len(found) >= most {
			return found, nil
		}
	}
}

type listSourceOutcomesInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Before string           `query:"before" doc:"Only polls before this cursor; 0 means from the newest"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *changeAPI) listSourceOutcomes(ctx context.Context, in *listSourceOutcomesInput) (*rest.Body[client.OutcomeHistory], error) {
	limit := min(in.Limit, rest.MaxPage)
	_, before, err := a.FindOutcome(ctx, a.store, "query.before", in.Before)
	if err != nil {
		return nil, err
	}
	found, err := a.readOutcomes(ctx, freshet.OutcomeQuery{Source: in.ID, After: before, Newest: true, Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if _, err := rest.FindSource(ctx, a.store, in.ID); err != nil {
			return nil, err
		}
	}
	page := client.OutcomeHistory{Items: append([]client.Outcome{}, found[:min(len(found), limit)]...)}
	if len(found) > limit {
		page.Next = &page.Items[limit-1].Cursor
	}
	return rest.Reply(page), nil
}
