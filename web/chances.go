package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
)

func (a *api) routeChances(h huma.API) {
	const path = "/api/v1/sources/{id}/chances"
	tags := []string{"sources"}
	route(h, a, huma.Operation{
		OperationID: "set-chances", Method: http.MethodPut, Path: path, Tags: tags,
		Summary:      "Say when a source is likely to change",
		Description:  "Chances of coming changes, from a calendar or another program's model, in the place of those that were given before. While they hold, the policies auto and wic go by them, and not by what was learnt.",
		MaxBodyBytes: 4 << 20,
	}, a.setChances)
	route(h, a, huma.Operation{
		OperationID: "get-chances", Method: http.MethodGet, Path: path, Tags: tags,
		Summary: "Show the chances that were given of a source",
	}, a.getChances)
	route(h, a, huma.Operation{
		OperationID: "clear-chances", Method: http.MethodDelete, Path: path, Tags: tags,
		Summary: "Take back the chances that were given of a source", DefaultStatus: http.StatusNoContent,
	}, a.clearChances)
}

func (a *api) setChances(ctx context.Context, in *struct {
	ID   freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Body freshet.Chances
}) (*bodyOf[freshet.Chances], error) {
	given, err := a.Daemon.SetChances(ctx, in.ID, in.Body)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	return &bodyOf[freshet.Chances]{given}, nil
}

func (a *api) getChances(ctx context.Context, in *sourcePath) (*bodyOf[freshet.Chances], error) {
	if _, err := a.Store.Source(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	given, ok, err := a.Daemon.Chances(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	if !ok {
		return nil, fmt.Errorf("chances of source %s: %w", in.ID, freshet.ErrNotFound)
	}
	return &bodyOf[freshet.Chances]{given}, nil
}

func (a *api) clearChances(ctx context.Context, in *sourcePath) (*struct{}, error) {
	if err := a.Daemon.ClearChances(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	return nil, nil
}
