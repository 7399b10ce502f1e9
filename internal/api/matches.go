package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

func (a *api) routeMatches(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "list-matches", Method: http.MethodGet, Path: "/api/v1/queries/{id}/matches", Tags: tags,
		Summary: "Read the matches of a query, oldest first",
		Description: "With wait, the response is delayed until there is a match or the wait is over. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
	}, a.listMatches)
	route(h, a, huma.Operation{
		OperationID: "stream-matches", Method: http.MethodGet, Path: "/api/v1/queries/{id}/matches/stream", Tags: tags,
		Summary: "Follow the matches of a query as server-sent events",
		Description: "Every event is named match; its id is the cursor and its data the match. " +
			"The stream continues after Last-Event-ID, or after the cursor in after, or else at the end of the log.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.streamMatches)
}

type listMatchesInput struct {
	ID     freshet.QueryID `path:"id" maxLength:"64" doc:"ID of the query"`
	After  string          `query:"after" doc:"Only matches after this cursor; 0 means from the beginning"`
	Limit  int             `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait   string          `query:"wait" doc:"How long to wait if there is no match, such as 10s; more than 60s means 60s"`
	Newest bool            `query:"newest" doc:"The newest first, down to the cursor in after"`
}

func (a *api) listMatches(ctx context.Context, in *listMatchesInput) (*bodyOf[client.MatchPage], error) {
	wait, err := waitOf(in.Wait, maxChangeWait)
	if err != nil {
		return nil, err
	}
	from, err := parsePlace("query.after", in.After)
	if err != nil {
		return nil, err
	}
	at, err := a.findMatch(ctx, from)
	if err != nil {
		return nil, err
	}
	waiting, cancel := a.patience(ctx, wait)
	defer cancel()
	tail := matchTail{api: a, query: in.ID, at: at, newest: in.Newest}
	page := &bodyOf[client.MatchPage]{client.MatchPage{Items: []client.Match{}, Next: from}}
	matches, err := tail.read(ctx, min(in.Limit, maxPage))
	for err == nil && len(matches) == 0 && wait > 0 {
		if err := a.Store.WaitMatch(waiting, tail.at); errors.Is(err, errWaited) {
			return page, nil
		} else if err != nil {
			return nil, err
		}
		matches, err = tail.read(ctx, min(in.Limit, maxPage))
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
func (a *api) findMatch(ctx context.Context, p freshet.Place) (freshet.Cursor, error) {
	end, err := a.Store.LastMatch(ctx)
	if err != nil {
		return 0, fmt.Errorf("end of the log of matches: %w", err)
	}
	epochs, err := a.Store.MatchEpochs(ctx)
	if err != nil {
		return 0, err
	}
	return a.find(epochs, p, end)
}

// A matchTail reads on from a place in the log of matches.
type matchTail struct {
	*api
	query  freshet.QueryID
	at     freshet.Cursor // everything up to here has been read
	newest bool
}

// read returns the next matches. If there are none it has moved over those of other
// queries, so that only a later match wakes who waits at its place.
func (t *matchTail) read(ctx context.Context, limit int) (told []client.Match, err error) {
	end, err := t.Store.LastMatch(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the log of matches: %w", err)
	}
	matches, err := t.Store.Matches(ctx, freshet.MatchQuery{Query: t.query, After: t.at, Newest: t.newest, Limit: limit})
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		t.at = max(t.at, end)
	}
	for _, m := range matches {
		completed, err := t.completed(ctx, m)
		if err != nil {
			return nil, err
		}
		told = append(told, sinks.MatchOf(m, completed))
		t.at = max(t.at, m.Cursor)
	}
	return told, nil
}

// completed returns the change that completed a match, if it is still there.
func (a *api) completed(ctx context.Context, m freshet.Match) (*freshet.Change, error) {
	if len(m.Changes) == 0 {
		return nil, nil
	}
	at := m.Changes[len(m.Changes)-1].Cursor
	found, err := a.Store.Changes(ctx, freshet.ChangeQuery{After: at - 1, Limit: 1})
	if err != nil || len(found) == 0 || found[0].Cursor != at {
		return nil, err
	}
	return &found[0], nil
}

type streamMatchesInput struct {
	ID          freshet.QueryID `path:"id" maxLength:"64" doc:"ID of the query"`
	LastEventID string          `header:"Last-Event-ID" doc:"Continue after this cursor; takes precedence over after"`
	After       string          `query:"after" doc:"Continue after this cursor"`
}

func (a *api) streamMatches(ctx context.Context, in *streamMatchesInput) (*huma.StreamResponse, error) {
	from, given, err := (&streamInput{LastEventID: in.LastEventID, After: in.After}).place()
	if err != nil {
		return nil, err
	}
	if _, err := a.Store.Query(ctx, in.ID); err != nil {
		return nil, err
	}
	at, err := a.findMatch(ctx, from)
	if err == nil && !given {
		at, err = a.Store.LastMatch(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		s := &stream{api: a, w: w, control: http.NewResponseController(w)}
		ctx, cancel := a.untilStop(r.Context())
		defer cancel()
		if err := s.runMatches(ctx, matchTail{api: a, query: in.ID, at: at}); err != nil && ctx.Err() == nil {
			a.Log.Debug("a stream of matches has ended", "query", in.ID, "err", err)
		}
	}}, nil
}

// runMatches sends the matches of a query until the client or the program ends it.
func (s *stream) runMatches(ctx context.Context, tail matchTail) error {
	s.greet()
	if err := s.send([]byte("retry: 2000\n\n")); err != nil {
		return err
	}
	for {
		matches, err := tail.read(ctx, streamPage)
		if err != nil {
			return err
		}
		var events bytes.Buffer
		for _, m := range matches {
			data, err := json.Marshal(m)
			if err != nil {
				return fmt.Errorf("encode match %d: %w", m.Number, err)
			}
			writeEvent(&events, "match", m.Cursor.String(), data)
		}
		if len(matches) > 0 {
			if err := s.send(events.Bytes()); err != nil {
				return err
			}
			continue
		}
		if err := s.await(ctx, func(ctx context.Context) error { return s.Store.WaitMatch(ctx, tail.at) }); err != nil {
			return err
		}
	}
}
