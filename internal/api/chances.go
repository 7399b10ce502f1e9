package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/freshet"
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

// taggedChances are chances with a tag of what they are.
type taggedChances struct {
	ETag string `header:"ETag"`
	Body freshet.Chances
}

type setChancesInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch ifMatch          `header:"If-Match" doc:"Replace them only if they still have this ETag; * means any"`
	Body    freshet.Chances
}

func (a *api) setChances(ctx context.Context, in *setChancesInput) (*taggedChances, error) {
	a.edits.Lock() // nothing comes between the look and the change
	defer a.edits.Unlock()
	if err := a.checkChances(ctx, in.ID, in.IfMatch); err != nil {
		return nil, err
	}
	given, err := a.Daemon.SetChances(ctx, in.ID, in.Body)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	return &taggedChances{contentTag(given), given}, nil
}

// checkChances reports whether what was given of a source still has a tag.
func (a *api) checkChances(ctx context.Context, id freshet.SourceID, m ifMatch) error {
	if m == "" {
		return nil
	}
	found, err := a.getChances(ctx, &sourcePath{ID: id})
	if errors.Is(err, freshet.ErrNotFound) {
		if _, err := a.Store.Source(ctx, id); err != nil {
			return ofSource(id, err)
		}
		return m.checkTag("the chances of source "+string(id), "")
	}
	if err != nil {
		return err
	}
	return m.checkTag("the chances of source "+string(id), found.ETag)
}

func (a *api) getChances(ctx context.Context, in *sourcePath) (*taggedChances, error) {
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
	return &taggedChances{contentTag(given), given}, nil
}

type clearChancesInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch ifMatch          `header:"If-Match" doc:"Take them back only if they still have this ETag; * means any"`
}

func (a *api) clearChances(ctx context.Context, in *clearChancesInput) (*struct{}, error) {
	a.edits.Lock()
	defer a.edits.Unlock()
	if err := a.checkChances(ctx, in.ID, in.IfMatch); err != nil {
		return nil, err
	}
	if err := a.Daemon.ClearChances(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	return nil, nil
}
