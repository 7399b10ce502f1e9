package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

func (a *api) routeConfirm(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "confirm-version", Method: http.MethodPost, Path: "/api/v1/sources/{id}/confirm", Tags: tags,
		Summary:     "Accept the version that is held as suspect: this is the page now",
		Description: "The version is reported as a change at once, and later polls compare with it. Returns 409 if nothing is held, or a different version than the one given.",
	}, a.confirm)
}

type confirmInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Version int              `query:"version" minimum:"0" doc:"Number of the held version; 0 means whichever is held"`
}

func (a *api) confirm(ctx context.Context, in *confirmInput) (*bodyOf[client.Change], error) {
	w, err := a.Store.Source(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	held := w.Standing.Held.Number
	switch {
	case held == 0:
		p := problem(http.StatusConflict, fmt.Sprintf("no version of %s is held", in.ID))
		p.Hint = "freshet list --suspect shows the sources of which one is"
		return nil, p
	case in.Version != 0 && in.Version != held:
		return nil, problem(http.StatusConflict, fmt.Sprintf("version %d of %s is held, not version %d", held, in.ID, in.Version))
	}
	c, err := a.Daemon.Confirm(ctx, in.ID, held)
	if errors.Is(err, freshet.ErrNotFound) { // settled meanwhile
		return nil, problem(http.StatusConflict, fmt.Sprintf("version %d of %s is no longer held", held, in.ID))
	}
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.Change]{sinks.ChangeOf(c)}, nil
}
