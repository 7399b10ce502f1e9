package api

import (
	"errors"
	"io"
	"net/http"

	"freshet/internal/freshet"
)

// maxNotice is how much of a message of a hub is read.
const maxNotice = 4 << 20

// routeWebSub serves the callbacks of hubs. They speak no JSON, so that they are not
// part of the described API.
func (a *api) routeWebSub(mux gatedMux) {
	mux.HandleFunc("GET /api/v1/websub/{token}", func(w http.ResponseWriter, r *http.Request) {
		if a.WebSub == nil {
			problem(http.StatusNotFound, "there are no subscriptions here").write(w)
			return
		}
		challenge, err := a.WebSub.Confirm(r.Context(), r.PathValue("token"), r.URL.Query())
		if err != nil {
			a.refuseHub(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, challenge) // whether the hub hears it is for the hub to say
	})
	mux.HandleFunc("POST /api/v1/websub/{token}", a.hearHub)
}

func (a *api) refuseHub(w http.ResponseWriter, err error) {
	if errors.Is(err, freshet.ErrNotFound) {
		problem(http.StatusNotFound, "there is no such subscription").write(w)
		return
	}
	a.Log.Error("a callback of a hub failed", "err", err)
	problem(http.StatusInternalServerError, "the callback failed").write(w)
}

// hearHub has the feed polled that a hub speaks of. A message that is not signed as it
// must be is accepted and passed over, as the recommendation says.
func (a *api) hearHub(w http.ResponseWriter, r *http.Request) {
	if a.WebSub == nil || a.Hooks == nil {
		problem(http.StatusNotFound, "there are no subscriptions here").write(w)
		return
	}
	if !a.Hooks.Allow() {
		problem(http.StatusTooManyRequests, "too many calls").write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if err != nil {
		problem(http.StatusRequestEntityTooLarge, "the message is too large").write(w)
		return
	}
	id, err := a.WebSub.Told(r.Context(), r.PathValue("token"), r.Header.Get("X-Hub-Signature"), body)
	if err != nil {
		a.refuseHub(w, err)
		return
	}
	if id != "" && !a.Hooks.Repeated(id) {
		if err := a.Daemon.Push(r.Context(), id); err != nil {
			a.refuseHub(w, err)
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}
