package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// queryAPI serves queries and their matches.
type queryAPI struct {
	*rest.Server
	store   freshet.Store
	queries *queries.Store
	runner  *queries.Runner // nil means that queries are not run
	read    func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)
	sinks   *delivery.Sinks // that may follow a query; nil means none
	daemon  *daemon.Daemon
}

func (a *queryAPI) routes() {
	a.routeQueries()
}

func (a *queryAPI) routeQueries() {
	tags := []string{"queries"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-queries", Method: http.MethodGet, Path: "/api/v1/queries", Tags: tags,
		Summary: "List the queries",
	}, a.listQueries)
	rest.Route(a.Server, huma.Operation{
		OperationID: "add-query", Method: http.MethodPost, Path: "/api/v1/queries", Tags: tags,
		Summary: "Add a query", DefaultStatus: http.StatusCreated,
		Description: "A mistake in a condition is answered with 422, the field, and the line and column in its message.",
	}, a.addQuery)
	rest.Route(a.Server, huma.Operation{
		OperationID: "test-query", Method: http.MethodPost, Path: "/api/v1/queries/test", Tags: tags,
		Summary: "Test a query on the stored changes", DefaultStatus: http.StatusOK,
	}, a.testQuery)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-query", Method: http.MethodGet, Path: "/api/v1/queries/{id}", Tags: tags,
		Summary: "Show a query",
	}, a.getQuery)
	rest.Route(a.Server, huma.Operation{
		OperationID: "edit-query", Method: http.MethodPatch, Path: "/api/v1/queries/{id}", Tags: tags,
		Summary: "Change a query",
	}, a.editQuery)
	rest.Route(a.Server, huma.Operation{
		OperationID: "remove-query", Method: http.MethodDelete, Path: "/api/v1/queries/{id}", Tags: tags,
		Summary: "Remove a query with its matches", DefaultStatus: http.StatusNoContent,
	}, a.removeQuery)
	rest.Route(a.Server, huma.Operation{
		OperationID: "acknowledge-query", Method: http.MethodPost, Path: "/api/v1/queries/{id}/acknowledge", Tags: tags,
		Summary: "Acknowledge the matches of a query, so that they are not sent again", DefaultStatus: http.StatusOK,
		Description: "Concerns queries with repeat. What matches later is repeated again.",
	}, a.acknowledgeQuery)
	a.routeMatches(tags)
	a.routeStates(tags)
}

// queryOf returns a query as the API tells it.
func (a *queryAPI) queryOf(q queries.Query, warnings []string) client.Query {
	told := client.Query{NewQuery: queries.ToClient(q), Origin: q.Origin, CreatedAt: rest.UTC(q.Created), Matches: q.Last, Words: queries.ShortFormOf(q), Warnings: warnings, Unacknowledged: q.Unacknowledged()}
	if a.runner != nil {
		if s, known := a.runner.Status(q.ID); known {
			told.Behind = s.Behind
			if s.Waiting > 0 {
				told.Waiting = &client.Waiting{Count: s.Waiting, For: string(s.For), Until: rest.UTC(s.Until)}
			}
		}
	}
	return told
}

type queryList struct {
	Items []client.Query `json:"items" nullable:"false"`
	Next  string         `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

func (a *queryAPI) listQueries(ctx context.Context, in *rest.Paging) (*rest.Body[queryList], error) {
	all, err := a.queries.Queries(ctx)
	if err != nil {
		return nil, err
	}
	told := queryList{Items: []client.Query{}}
	all, told.Next = rest.Page(*in, all, func(q queries.Query) string { return string(q.ID) })
	for _, q := range all {
		told.Items = append(told.Items, a.queryOf(q, nil))
	}
	return rest.Reply(told), nil
}

type queryPath struct {
	ID queries.ID `path:"id" maxLength:"64" doc:"ID of the query"`
}

// A taggedQuery is a query with the tag of its revision.
type taggedQuery struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     client.Query
}

func (a *queryAPI) getQuery(ctx context.Context, in *queryPath) (*taggedQuery, error) {
	q, err := a.queries.Query(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &taggedQuery{ETag: rest.RevisionTag(q.Revision), Body: a.queryOf(q, nil)}, nil
}

func (a *queryAPI) addQuery(ctx context.Context, in *rest.Body[client.QueryToAdd]) (*taggedQuery, error) {
	defined, err := queries.FromClient(in.Body.NewQuery)
	if err != nil {
		return nil, told(err)
	}
	report, err := a.admitQuery(ctx, defined)
	if err != nil {
		return nil, err
	}
	q := report.Query
	if q.From, err = a.beginning(ctx, in.Body.Backfill); err != nil {
		return nil, err
	}
	q.Origin, q.Created = freshet.FromAPI, a.Now()
	rest.RecordAnswer(ctx, func(added queries.Query) (string, any) { return pathOfQuery(added.ID), nil })
	if q, err = a.queries.AddQuery(ctx, q); err != nil {
		return nil, err
	}
	rest.Changed(ctx, nil, rest.Fields(queries.ToClient(q)))
	a.queriesEdited()
	return &taggedQuery{pathOfQuery(q.ID), rest.RevisionTag(q.Revision), a.queryOf(q, report.Warnings)}, nil
}

// pathOfQuery returns the URL path of a query.
func pathOfQuery(id queries.ID) string { return "/api/v1/queries/" + string(id) }

// queriesEdited tells who runs the queries that they are others.
func (a *queryAPI) queriesEdited() {
	if a.runner != nil {
		a.runner.Edited()
	}
	a.daemon.QueriesEdited()
}

// beginning returns the place in the log of changes after which a query begins.
func (a *queryAPI) beginning(ctx context.Context, backfill string) (freshet.Cursor, error) {
	if backfill == "" {
		return -1, nil
	}
	since, err := a.since(backfill)
	if err != nil {
		return 0, rest.Invalid("body.backfill", err.Error(), backfill)
	}
	return queries.ChangeBefore(ctx, a.store, since)
}

// since reads a time, or a length of time before now; 0 is the beginning.
func (a *queryAPI) since(text string) (time.Time, error) {
	if text == "" || text == "0" {
		return time.Time{}, nil
	}
	return freshet.ParseTime(text, a.Now(), time.UTC)
}

// admitQuery judges a query.
func (a *queryAPI) admitQuery(ctx context.Context, q queries.Query) (queries.Report, error) {
	schema, err := queries.SchemaOf(ctx, a.store, q.Scope)
	if err != nil {
		return queries.Report{}, err
	}
	report, err := queries.Check(q, schema)
	return report, told(err)
}

// told returns the error of a condition as a problem with its position.
func told(err error) error { return toldIn("body.", err) }

// toldIn says what is wrong with a query in some part of the request.
func toldIn(part string, err error) error {
	if m, ok := errors.AsType[*queries.Mistake](err); ok {
		p := rest.Invalid(part+m.Field, fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Reason), map[string]int{"line": m.Line, "column": m.Column})
		p.Hint = m.Help
		return p
	}
	if f, ok := errors.AsType[*invalid.Error](err); ok {
		return f
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return rest.Invalid("body."+t.Field, "has the wrong type", nil)
	}
	return err
}

type editQueryInput struct {
	ID      queries.ID   `path:"id" maxLength:"64" doc:"ID of the query"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Edit only if the query still has this ETag; * means any"`
	Body    rest.Object[queryEdit]
}

func (a *queryAPI) editQuery(ctx context.Context, in *editQueryInput) (*taggedQuery, error) {
	for tries := 1; ; tries++ {
		edited, err := a.editQueryOnce(ctx, in)
		if err == nil || in.IfMatch != "" || !errors.Is(err, freshet.ErrStale) || tries == editTries {
			return edited, err
		}
	}
}

// editQueryOnce applies the patch to the query as it is. After a concurrent edit it changes nothing.
func (a *queryAPI) editQueryOnce(ctx context.Context, in *editQueryInput) (*taggedQuery, error) {
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	before, err := a.queries.Query(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.Check("query", string(in.ID), before.Revision); err != nil {
		return nil, err
	}
	if before.Origin == freshet.FromFile {
		return nil, queryInFile(in.ID)
	}
	was := before
	if was.Scope.Everything() {
		was.Scope = queries.Scope{}
	}
	edited, err := rest.Merge(was, in.Body)
	if err != nil {
		return nil, told(err)
	}
	if _, named := in.Body["trigger"]; !named {
		if edited.Trigger, err = queries.Retrigger(before, edited); err != nil {
			return nil, err
		}
	}
	report, err := a.admitQuery(ctx, edited)
	if err != nil {
		return nil, err
	}
	q := report.Query
	if q.ID != in.ID {
		return nil, rest.Invalid("body.id", "the id of a query cannot be changed; add another query", q.ID)
	}
	q.Origin, q.Revision = before.Origin, before.Revision
	if q, err = a.queries.UpdateQuery(ctx, q); err != nil {
		return nil, err
	}
	rest.Changed(ctx, rest.Fields(queries.ToClient(before)), rest.Fields(queries.ToClient(q)))
	a.queriesEdited()
	return &taggedQuery{ETag: rest.RevisionTag(q.Revision), Body: a.queryOf(q, report.Warnings)}, nil
}

// queryInFile says that a query cannot be changed here.
func queryInFile(id queries.ID) error {
	p := rest.NewProblem(http.StatusConflict, fmt.Sprintf("query %s is in the configuration file", id))
	p.Hint = "change it there, then reload the daemon"
	return p
}

type removeQueryInput struct {
	ID      queries.ID   `path:"id" maxLength:"64" doc:"ID of the query"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Remove only if the query still has this ETag; * means any"`
}

func (a *queryAPI) removeQuery(ctx context.Context, in *removeQueryInput) (*struct{}, error) {
	a.Edits.Lock() // no edit comes between the look and the removal
	defer a.Edits.Unlock()
	q, err := a.queries.Query(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.Check("query", string(in.ID), q.Revision); err != nil {
		return nil, err
	}
	if q.Origin == freshet.FromFile {
		return nil, queryInFile(in.ID)
	}
	if err := a.unfollowed(ctx, in.ID); err != nil {
		return nil, err
	}
	if err := a.queries.RemoveQuery(ctx, in.ID); err != nil {
		return nil, err
	}
	rest.Changed(ctx, rest.Fields(queries.ToClient(q)), nil)
	a.queriesEdited()
	return nil, nil
}

type acknowledgeInput struct {
	ID   queries.ID `path:"id" maxLength:"64" doc:"ID of the query"`
	Body client.Acknowledgement
}

func (a *queryAPI) acknowledgeQuery(ctx context.Context, in *acknowledgeInput) (*rest.Body[client.Query], error) {
	upTo := in.Body.UpTo
	if upTo == 0 {
		upTo = math.MaxInt64
	}
	q, err := a.acknowledge(ctx, in.ID, upTo)
	if err != nil {
		return nil, err
	}
	rest.Changed(ctx, nil, rest.Fields(map[string]any{"acknowledged": q.Acknowledged}))
	return rest.Reply(a.queryOf(q, nil)), nil
}

// acknowledge ends the repetition of the matches of a query up to a number.
func (a *queryAPI) acknowledge(ctx context.Context, id queries.ID, upTo int64) (queries.Query, error) {
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	q, err := a.queries.Acknowledge(ctx, id, upTo)
	if err == nil {
		a.queriesEdited()
	}
	return q, err
}

// unfollowed reports sinks that follow a query. What it had to tell them would be lost with
// it.
func (a *queryAPI) unfollowed(ctx context.Context, id queries.ID) error {
	if a.sinks == nil {
		return nil
	}
	sinks, err := a.sinks.List(ctx)
	if err != nil {
		return err
	}
	for _, st := range sinks {
		if slices.Contains(st.Sink.Queries, id) {
			p := rest.NewProblem(http.StatusConflict, fmt.Sprintf("sink %s follows query %s", st.Sink.Name, id))
			p.Hint = fmt.Sprintf("remove the sink, or have it follow others with freshet sink edit %s --query OTHER; its pending deliveries are still sent", st.Sink.Name)
			return p
		}
	}
	return nil
}

const (
	usualMatches = 100
	testPatience = 5 * time.Minute
)

func (a *queryAPI) testQuery(ctx context.Context, in *rest.Body[client.QueryTest]) (*rest.Body[client.QueryFinding], error) {
	said := in.Body.NewQuery
	if said.Name == "" {
		said.Name = "test"
	}
	defined, err := queries.FromClient(said)
	if err != nil {
		return nil, told(err)
	}
	schema, err := queries.SchemaOf(ctx, a.store, defined.Scope)
	if err != nil {
		return nil, err
	}
	report, err := queries.Check(defined, schema)
	if err != nil {
		return nil, told(err)
	}
	since, err := a.since(in.Body.Since)
	if err != nil {
		return nil, rest.Invalid("body.since", err.Error(), in.Body.Since)
	}
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	limit := in.Body.Limit
	if limit == 0 {
		limit = usualMatches
	}
	found, err := queries.Try(ctx, report.Query, queries.Trial{Store: a.store, Read: a.read, Since: since, Until: a.Now(), Limit: limit})
	if err != nil {
		return nil, err
	}
	answer := client.QueryFinding{Items: []client.Match{}, Found: found.Found, Scanned: found.Scanned, Missing: found.Tally.Missing, Warnings: report.Warnings, Fields: schema.Fields}
	title := titles(ctx, a.store)
	for _, m := range found.Matches {
		var completed *freshet.Change
		if n := len(m.Changes); n > 0 {
			if c, ok := found.Changes[m.Changes[n-1].Cursor]; ok {
				completed = &c
			}
		}
		shown := sinks.MatchOf(m, completed)
		if err := title(shown.Change); err != nil {
			return nil, err
		}
		answer.Items = append(answer.Items, shown)
	}
	return rest.Reply(answer), nil
}

// A queryEdit is what can be edited of a query, with a schema of its own.
type queryEdit client.NewQuery

// TransformSchema implements [huma.SchemaTransformer].
func (queryEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return rest.Nullable(r, s)
}
