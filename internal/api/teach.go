package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

func (a *api) routeTaught(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "teach-source", Method: http.MethodPost, Path: "/api/v1/sources/{id}/taught", Tags: []string{"sources"},
		Summary:      "Teach when a source changed, from elsewhere",
		Description:  "What is known from elsewhere of when the source changed teaches the learner, and is history to plan from. It counts neither as polls nor as captures. What was told before counts once.",
		MaxBodyBytes: 16 << 20,
	}, a.teach)
	route(h, a, huma.Operation{
		OperationID: "get-taught", Method: http.MethodGet, Path: "/api/v1/sources/{id}/taught", Tags: []string{"sources"},
		Summary: "List the update times that were told of a source",
	}, a.getTaught)
}

func (a *api) teach(ctx context.Context, in *struct {
	ID   freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Body client.TimesToTeach
}) (*bodyOf[client.Lesson], error) {
	added, all, err := a.Daemon.Teach(ctx, in.ID, in.Body.Times)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	return &bodyOf[client.Lesson]{client.Lesson{Added: added, Taught: client.TaughtOf(all)}}, nil
}

func (a *api) getTaught(ctx context.Context, in *struct {
	ID    freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	After string           `query:"after" maxLength:"200" doc:"Only what comes after this: the next of the page before"`
	Limit int              `query:"limit" default:"10000" minimum:"1" maximum:"10000" doc:"At most this many"`
}) (*bodyOf[client.TaughtTimes], error) {
	if _, err := a.Store.Source(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	all, err := a.Daemon.Taught(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	times, next := paged(paging{in.After, in.Limit}, all.All(), placeOfTime)
	return &bodyOf[client.TaughtTimes]{client.TaughtTimes{Times: times, Next: next}}, nil
}

// placeOfTime gives update times their places: those that ended first come first.
func placeOfTime(t freshet.UpdateTime) string {
	return fmt.Sprintf("%s-%s", t.Until.UTC().Format(sortable), t.After.UTC().Format(sortable))
}

// sortable is how times are written that are sorted as text.
const sortable = "20060102T150405.000000000"
