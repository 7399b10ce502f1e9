package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
)

func (a *api) routeHooks(h huma.API) {
	tags := []string{"sources"}
	route(h, a, huma.Operation{
		OperationID: "make-hook", Method: http.MethodPost, Path: "/api/v1/sources/{id}/hook", Tags: tags,
		Summary: "Show the hook of a source, which others call when it has changed; it is created if there is none",
	}, a.makeHook)
	route(h, a, huma.Operation{
		OperationID: "remove-hook", Method: http.MethodDelete, Path: "/api/v1/sources/{id}/hook", Tags: tags,
		Summary: "Make the hook of a source invalid", DefaultStatus: http.StatusNoContent,
	}, a.removeHook)
	route(h, a, huma.Operation{
		OperationID: "call-hook", Method: http.MethodPost, Path: "/api/v1/hooks/{token}", Tags: tags,
		Summary: "Have a source polled as soon as the budget and its host allow", DefaultStatus: http.StatusAccepted,
		Description: "The body is ignored. Calls within 5 seconds of each other count as one. At most 20 calls a second are accepted, over all hooks.",
	}, a.callHook)
}

type makeHookInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Rotate bool             `query:"rotate" doc:"Replace the hook; the old one becomes invalid"`
}

func (a *api) makeHook(ctx context.Context, in *makeHookInput) (*bodyOf[client.Hook], error) {
	if _, err := a.Store.Source(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	if a.Hooks == nil {
		return nil, errNoHooks()
	}
	token, err := a.Hooks.Token(ctx, in.ID, in.Rotate)
	if err != nil {
		return nil, err
	}
	h := client.Hook{Source: in.ID, Path: "/api/v1/hooks/" + token}
	if a.Base != "" {
		h.URL = strings.TrimSuffix(a.Base, "/") + h.Path
	}
	return &bodyOf[client.Hook]{h}, nil
}

func (a *api) removeHook(ctx context.Context, in *sourcePath) (*struct{}, error) {
	if _, err := a.Store.Source(ctx, in.ID); err != nil {
		return nil, ofSource(in.ID, err)
	}
	if a.Hooks == nil {
		return nil, errNoHooks()
	}
	return nil, a.Hooks.Remove(ctx, in.ID)
}

func errNoHooks() error { return problem(http.StatusNotFound, "there are no hooks here") }

type callHookInput struct {
	Token string `path:"token" maxLength:"128" doc:"Token of the hook"`
}

func (a *api) callHook(ctx context.Context, in *callHookInput) (*struct{}, error) {
	if a.Hooks == nil {
		return nil, errNoHooks()
	}
	id, again, err := a.Hooks.Called(ctx, in.Token)
	switch {
	case errors.Is(err, auth.ErrManyCalls):
		return nil, problem(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, freshet.ErrNotFound):
		return nil, problem(http.StatusNotFound, "there is no such hook")
	case err != nil:
		return nil, err
	case again:
		return nil, nil
	}
	if err := a.Daemon.Push(ctx, id); err != nil {
		return nil, ofSource(id, err)
	}
	return nil, nil
}
