package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	fetchauth "freshet/internal/fetch/auth"
	"freshet/internal/freshet"
)

// hookAPI serves calls of others who say that a source has changed.
type hookAPI struct {
	*rest.Server
	sources freshet.Catalog
	daemon  *daemon.Daemon
	hooks   *fetchauth.Hooks  // nil means none
	webSub  *fetchauth.WebSub // nil means none
	base    string
}

func (a *hookAPI) routes() {
	a.routeHooks()
	a.routeWebSub()
}

func (a *hookAPI) routeHooks() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "make-hook", Method: http.MethodPost, Path: "/api/v1/sources/{id}/hook", Tags: tags,
		Summary: "Show the hook of a source, which reports that the source has changed; create it if there is none",
	}, a.makeHook)
	rest.Route(a.Server, huma.Operation{
		OperationID: "remove-hook", Method: http.MethodDelete, Path: "/api/v1/sources/{id}/hook", Tags: tags,
		Summary: "Invalidate the hook of a source", DefaultStatus: http.StatusNoContent,
	}, a.removeHook)
	rest.Route(a.Server, huma.Operation{
		OperationID: "call-hook", Method: http.MethodPost, Path: "/api/v1/hooks/{token}", Tags: tags,
		Summary: "Poll a source as soon as the budget and its host allow", DefaultStatus: http.StatusAccepted,
		Description: "The body is ignored. Calls within 5 seconds of each other count as one. At most 20 calls a second are accepted, over all hooks.",
	}, a.callHook)
}

type makeHookInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Rotate bool             `query:"rotate" doc:"Replace the hook; the old one becomes invalid"`
}

func (a *hookAPI) makeHook(ctx context.Context, in *makeHookInput) (*rest.Body[client.Hook], error) {
	if _, err := rest.FindSource(ctx, a.sources, in.ID); err != nil {
		return nil, err
	}
	if a.hooks == nil {
		return nil, errNoHooks()
	}
	token, err := a.hooks.Token(ctx, in.ID, in.Rotate)
	if err != nil {
		return nil, err
	}
	h := client.Hook{Source: in.ID, Path: "/api/v1/hooks/" + token}
	if a.base != "" {
		h.URL = strings.TrimSuffix(a.base, "/") + h.Path
	}
	return rest.Reply(h), nil
}

func (a *hookAPI) removeHook(ctx context.Context, in *rest.SourcePath) (*struct{}, error) {
	if _, err := rest.FindSource(ctx, a.sources, in.ID); err != nil {
		return nil, err
	}
	if a.hooks == nil {
		return nil, errNoHooks()
	}
	return nil, a.hooks.Remove(ctx, in.ID)
}

func errNoHooks() error { return rest.NewProblem(http.StatusNotFound, "hooks are not available here") }

type callHookInput struct {
	Token string `path:"token" maxLength:"128" doc:"Token of the hook"`
}

func (a *hookAPI) callHook(ctx context.Context, in *callHookInput) (*struct{}, error) {
	if a.hooks == nil {
		return nil, errNoHooks()
	}
	id, again, err := a.hooks.Called(ctx, in.Token)
	switch {
	case errors.Is(err, fetchauth.ErrManyCalls):
		return nil, rest.NewProblem(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, freshet.ErrNotFound):
		return nil, rest.NewProblem(http.StatusNotFound, "there is no such hook")
	case err != nil:
		return nil, err
	case again:
		return nil, nil
	}
	if err := a.daemon.Push(ctx, id); err != nil {
		return nil, rest.OfSource(id, err)
	}
	return nil, nil
}

// maxNotice is how much of a message of a hub is read.
const maxNotice = 4 << 20

// routeWebSub serves the callbacks of hubs. They speak no JSON, so that they are not
// part of the described API.
func (a *hookAPI) routeWebSub() {
	a.HandleFunc("GET /api/v1/websub/{token}", func(w http.ResponseWriter, r *http.Request) {
		if a.webSub == nil {
			rest.NewProblem(http.StatusNotFound, "subscriptions are not available here").Write(w)
			return
		}
		challenge, err := a.webSub.Confirm(r.Context(), r.PathValue("token"), r.URL.Query())
		if err != nil {
			a.refuseHub(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, challenge) // whether the hub hears it is for the hub to say
	})
	a.HandleFunc("POST /api/v1/websub/{token}", a.hearHub)
}

func (a *hookAPI) refuseHub(w http.ResponseWriter, err error) {
	if errors.Is(err, freshet.ErrNotFound) {
		rest.NewProblem(http.StatusNotFound, "there is no such subscription").Write(w)
		return
	}
	a.Log.Error("a callback of a hub failed", "err", err)
	rest.NewProblem(http.StatusInternalServerError, "the callback failed").Write(w)
}

// hearHub has the feed polled that a hub speaks of. A message that is not signed as it
// must be is accepted and passed over, as the recommendation says.
func (a *hookAPI) hearHub(w http.ResponseWriter, r *http.Request) {
	if a.webSub == nil || a.hooks == nil {
		rest.NewProblem(http.StatusNotFound, "subscriptions are not available here").Write(w)
		return
	}
	if !a.hooks.Allow() {
		rest.NewProblem(http.StatusTooManyRequests, "too many calls").Write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if err != nil {
		rest.NewProblem(http.StatusRequestEntityTooLarge, "the message is too large").Write(w)
		return
	}
	id, err := a.webSub.Told(r.Context(), r.PathValue("token"), r.Header.Get("X-Hub-Signature"), body)
	if err != nil {
		a.refuseHub(w, err)
		return
	}
	if id != "" && !a.hooks.Repeated(id) {
		if err := a.daemon.Push(r.Context(), id); err != nil {
			a.refuseHub(w, err)
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}
