package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/queries"
)

func (a *queryAPI) routeStates(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "query-states", Method: http.MethodGet, Path: "/api/v1/states", Tags: tags,
		Summary: "Query the states of sources, now or at a time",
		Description: "The query has the values that are wanted, and which rows: min(price) by shop from tag:shops where price > 0. " +
			"A state is the version that was current at the time; the first version of a source is one. docs/reference/queries.md has the language. " +
			"A mistake is answered with 422, the line and the column.",
	}, a.queryStates)
}

type statesInput struct {
	Query  string `query:"query" required:"true" maxLength:"4096" doc:"What is asked, such as min(price) by shop"`
	AsOf   string `query:"as_of" doc:"The states at this time: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d; now if it is left out"`
	Tag    string `query:"tag" doc:"Only sources with this tag, also in joins"`
	Offset int    `query:"offset" minimum:"0" doc:"Skip this many rows"`
	Limit  int    `query:"limit" default:"100" minimum:"1" doc:"At most this many rows; more than 1000 means 1000"`
}

const (
	statePatience = time.Minute
	stateBytes    = 8 << 20 // about what an evaluation takes
)

func (a *queryAPI) queryStates(ctx context.Context, in *statesInput) (*rest.Body[client.StateTable], error) {
	at := a.Now()
	if in.AsOf != "" {
		var err error
		if at, err = freshet.ParseTime(in.AsOf, a.Now(), time.UTC); err != nil {
			return nil, rest.Invalid("query.as_of", err.Error(), in.AsOf)
		}
	}
	if err := rest.Hold(ctx, stateBytes); err != nil {
		return nil, err
	}
	patient, cancel := context.WithTimeout(ctx, statePatience)
	defer cancel()
	scope := func(ctx context.Context, id queries.ID) (queries.Scope, error) {
		q, err := a.queries.Query(ctx, id)
		return q.Scope, err
	}
	limit := min(in.Limit, rest.MaxPage)
	found, err := queries.States{Store: a.store, Read: a.read, Scope: scope}.Eval(patient, queries.StateQuery{
		Text: in.Query, AsOf: at, Tag: in.Tag, Offset: in.Offset, Limit: limit,
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		p := rest.Invalid("query.query", "takes longer than a minute", nil)
		p.Hint = "look at fewer sources with from"
		return nil, p
	}
	if _, ok := errors.AsType[*queries.Mistake](err); ok {
		return nil, toldIn("query.", err)
	}
	if f, ok := errors.AsType[*invalid.Error](err); ok {
		p := rest.Invalid("query.query", f.Reason, nil)
		p.Hint = freshet.HintOf(err)
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	table := client.StateTable{
		AsOf: rest.UTC(at), Columns: found.Columns, Items: []client.StateRow{}, Total: found.Total,
		Sources: found.Sources, Without: found.Without, Missing: found.Missing, Unread: found.Unread,
	}
	for _, r := range found.Rows {
		row := client.StateRow{Values: r.Values}
		if v := r.Version; v != nil {
			row.Source, row.Version, row.SeenAt, row.Name = v.Source, v.Number, rest.UTC(v.SeenAt), cmp.Or(r.Label.Name, v.Title)
		}
		table.Items = append(table.Items, row)
	}
	if next := in.Offset + limit; next < found.Total {
		table.Next = &next
	}
	return rest.Reply(table), nil
}
