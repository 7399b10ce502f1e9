package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

func (a *queryAPI) routeMatches(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-matches", Method: http.MethodGet, Path: "/api/v1/queries/{id}/matches", Tags: tags,
		Summary: "Read the matches of a query, oldest first",
		Description: "With wait, the response is delayed until there is a match or the wait is over. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
	}, a.listMatches)
	rest.Route(a.Server, huma.Operation{
		OperationID: "stream-matches", Method: http.MethodGet, Path: "/api/v1/queries/{id}/matches/stream", Tags: tags,
		Summary: "Follow the matches of a query as server-sent events",
		Description: "Every event is named match; its id is the cursor and its data the match. " +
			"The stream continues after Last-Event-ID, or after the cursor in after, or else at the end of the log.",
		Responses: rest.EventStream(),
	}, a.streamMatches)
}

type listMatchesInput struct {
	ID     queries.ID `path:"id" maxLength:"64" doc:"ID of the query"`
	After  string     `query:"after" doc:"Only matches after this cursor; 0 means from the beginning"`
	Limit  int        `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait   string     `query:"wait" doc:"How long to wait if there is no match, such as 10s; more than 60s means 60s"`
	Newest bool       `query:"newest" doc:"The newest first, down to the cursor in after"`
}

func (a *queryAPI) listMatches(ctx context.Context, in *listMatchesInput) (*rest.Body[client.MatchPage], error) {
	wait, err := rest.ParseWait(in.Wait, maxChangeWait)
	if err != nil {
		return nil, err
	}
	from, err := rest.ParsePlace("query.after", in.After)
	if err != nil {
		return nil, err
	}
	at, err := a.findMatch(ctx, from)
	if err != nil {
		return nil, err
	}
	waiting, cancel := a.WithWait(ctx, wait)
	defer cancel()
	tail := matchTail{queryAPI: a, query: in.ID, at: at, newest: in.Newest}
	page := rest.Reply(client.MatchPage{Items: []client.Match{}, Next: from})
	matches, err := tail.read(ctx, min(in.Limit, rest.MaxPage))
	for err == nil && len(matches) == 0 && wait > 0 {
		if err := a.queries.WaitMatch(waiting, tail.at); errors.Is(err, rest.ErrWaited) {
			return page, nil
		} else if err != nil {
			return nil, err
		}
		matches, err = tail.read(ctx, min(in.Limit, rest.MaxPage))
	}
	if err != nil {
		return nil, err
	}
	for _, m := range matches {
		page.Body.Items = append(page.Body.Items, m)
		if m.Cursor.Cursor > page.Body.Next.Cursor {
			page.Body.Next = m.Cursor
		}
	}
	return page, nil
}

// findMatch returns the cursor of a place in the log of matches, or a
// *freshet.GoneError.
func (a *queryAPI) findMatch(ctx context.Context, p freshet.Place) (freshet.Cursor, error) {
	end, err := a.queries.LastMatch(ctx)
	if err != nil {
		return 0, fmt.Errorf("end of the log of matches: %w", err)
	}
	epochs, err := a.queries.MatchEpochs(ctx)
	if err != nil {
		return 0, err
	}
	return a.Find(epochs, p, end)
}

// A matchTail reads on from a place in the log of matches.
type matchTail struct {
	*queryAPI
	query  queries.ID
	at     freshet.Cursor // everything up to here has been read
	newest bool
}

// read returns the next matches. If there are none it has moved over those of other
// queries, so that only a later match wakes who waits at its place.
func (t *matchTail) read(ctx context.Context, limit int) (told []client.Match, err error) {
	end, err := t.queries.LastMatch(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the log of matches: %w", err)
	}
	matches, err := t.queries.Matches(ctx, queries.MatchQuery{Query: t.query, After: t.at, Newest: t.newest, Limit: limit})
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		t.at = max(t.at, end)
	}
	title := titles(ctx, t.store)
	for _, m := range matches {
		completed, err := t.completed(ctx, m)
		if err != nil {
			return nil, err
		}
		shown := sinks.MatchOf(m, completed)
		if err := title(shown.Change); err != nil {
			return nil, err
		}
		told = append(told, shown)
		t.at = max(t.at, m.Cursor)
	}
	return told, nil
}

// completed returns the change that completed a match, if it is still there.
func (a *queryAPI) completed(ctx context.Context, m queries.Match) (*freshet.Change, error) {
	if len(m.Changes) == 0 {
		return nil, nil
	}
	at := m.Changes[len(m.Changes)-1].Cursor
	found, err := a.store.Changes(ctx, freshet.ChangeQuery{After: at - 1, Limit: 1})
	if err != nil || len(found) == 0 || found[0].Cursor != at {
		return nil, err
	}
	return &found[0], nil
}

type streamMatchesInput struct {
	ID          queries.ID `path:"id" maxLength:"64" doc:"ID of the query"`
	LastEventID string     `header:"Last-Event-ID" doc:"Continue after this cursor; takes precedence over after"`
	After       string     `query:"after" doc:"Continue after this cursor"`
}

func (a *queryAPI) streamMatches(ctx context.Context, in *streamMatchesInput) (*rest.StreamBody, error) {
	from, given, err := rest.ResumeAt(in.LastEventID, in.After)
	if err != nil {
		return nil, err
	}
	if _, err := a.queries.Query(ctx, in.ID); err != nil {
		return nil, err
	}
	at, err := a.findMatch(ctx, from)
	if err == nil && !given {
		at, err = a.queries.LastMatch(ctx)
	}
	if err != nil {
		return nil, err
	}
	tail := matchTail{queryAPI: a, query: in.ID, at: at}
	return a.Stream("", tail.send), nil
}

// send sends the matches of a query until the client or the program ends it.
func (t *matchTail) send(ctx context.Context, events *rest.Events) error {
	for {
		matches, err := t.read(ctx, streamPage)
		if err != nil {
			return err
		}
		var encoded bytes.Buffer
		for _, m := range matches {
			data, err := json.Marshal(m)
			if err != nil {
				return fmt.Errorf("encode match %d: %w", m.Number, err)
			}
			rest.WriteEvent(&encoded, "match", m.Cursor.String(), data)
		}
		if len(matches) > 0 {
			if err := events.Send(encoded.Bytes()); err != nil {
				return err
			}
			continue
		}
		if err := events.Await(ctx, func(ctx context.Context) error { return t.queries.WaitMatch(ctx, t.at) }); err != nil {
			return err
		}
	}
}
