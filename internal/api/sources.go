package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

// bodyOf is a response that is one JSON value.
type bodyOf[T any] struct{ Body T }

type sourcePath struct {
	ID freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
}

func (a *api) routeSources(h huma.API) {
	tags := []string{"sources"}
	route(h, a, huma.Operation{
		OperationID: "list-sources", Method: http.MethodGet, Path: "/api/v1/sources", Tags: tags,
		Summary: "List the watched sources",
	}, a.listSources)
	route(h, a, huma.Operation{
		OperationID: "add-source", Method: http.MethodPost, Path: "/api/v1/sources", Tags: tags,
		Summary: "Watch a source", DefaultStatus: http.StatusCreated,
	}, a.addSource)
	route(h, a, huma.Operation{
		OperationID: "get-source", Method: http.MethodGet, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Show a source and how it is doing",
	}, a.getSource)
	route(h, a, huma.Operation{
		OperationID: "edit-source", Method: http.MethodPatch, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Change a source",
	}, a.editSource)
	route(h, a, huma.Operation{
		OperationID: "remove-source", Method: http.MethodDelete, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Stop watching a source", DefaultStatus: http.StatusNoContent,
	}, a.removeSource)
	route(h, a, huma.Operation{
		OperationID: "poll-source", Method: http.MethodPost, Path: "/api/v1/sources/{id}/poll", Tags: tags,
		Summary:     "Poll a source now, as soon as the budget and its host allow",
		Description: "Returns 200 with the result, or 202 with the reason for waiting if the poll has not finished when the wait is over. If the poll is known to take longer than the wait, the response comes at once.",
		Responses: map[string]*huma.Response{"202": {
			Description: "Accepted", Content: map[string]*huma.MediaType{"application/json": {
				Schema: h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.PollAnswer](), true, ""),
			}},
		}},
	}, a.pollSource)
	a.routeConfirm(h, tags)
}

type addedSource struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     client.Source
}

func (a *api) addSource(ctx context.Context, in *bodyOf[client.NewSource]) (*addedSource, error) {
	s, err := a.admit(in.Body)
	if err != nil {
		return nil, err
	}
	s.Origin = freshet.FromAPI
	if err := a.trust(s, nil); err != nil {
		return nil, err
	}
	earlier, err := a.earlier(ctx, s)
	if err != nil {
		return nil, err
	}
	if s, err = a.Daemon.AddSource(ctx, s); err != nil {
		return nil, err
	}
	w, err := a.Store.Source(ctx, s.ID)
	if err != nil {
		return nil, ofSource(s.ID, err)
	}
	added := sourceOf(w)
	if earlier != nil {
		earlier.Resumed = earlier.ID == s.ID
		added.Earlier = earlier
	}
	return &addedSource{Location: "/api/v1/sources/" + string(s.ID), ETag: tagOf(w.Revision), Body: added}, nil
}

// earlier returns the removed source that one to be added goes on from: the one with
// its ID. If there is none, it is the one that last watched the same page; nil if
// there is none either.
func (a *api) earlier(ctx context.Context, s freshet.Source) (found *client.Earlier, err error) {
	if s.ID != "" {
		w, err := a.Store.RemovedSource(ctx, s.ID)
		if !errors.Is(err, freshet.ErrNotFound) {
			return earlierOf(w), err
		}
	}
	var last freshet.Watched
	for w, err := range a.Store.RemovedSources(ctx, s.URL) {
		if err != nil {
			return nil, err
		}
		if w.Key() == s.Key() && !w.Created.Before(last.Created) {
			last, found = w, earlierOf(w)
		}
	}
	return found, nil
}

func earlierOf(w freshet.Watched) *client.Earlier {
	return &client.Earlier{ID: w.ID, URL: freshet.MaskURL(w.URL), Version: w.Standing.Head.Number}
}

type getSourceInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Reveal bool             `query:"reveal" doc:"Show the full URL, including parts that look like a secret"`

	Removed bool `query:"removed" doc:"Show a removed source whose history is kept"`
}

func (a *api) getSource(ctx context.Context, in *getSourceInput) (*editedSource, error) {
	read := a.Store.Source
	if in.Removed {
		read = a.Store.RemovedSource
	}
	w, err := read(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	s := sourceOf(w)
	s.Removed = in.Removed
	if s.Standing.Noise, err = a.noiseOf(ctx, w); err != nil {
		return nil, err
	}
	taught, err := a.Daemon.Taught(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	s.Standing.Taught = client.TaughtOf(taught)
	if in.Reveal {
		s.URL, s.Standing.MovedTo, s.Standing.LandedOn = w.URL, w.Standing.Moved.URL, w.Standing.Landed
	}
	return &editedSource{tagOf(w.Revision), s}, nil
}

type editSourceInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch ifMatch          `header:"If-Match" doc:"Edit only if the source still has this ETag; * means any"`
	Body    mergePatch[sourceEdit]
}

// editTries is how often an edit that may be of any revision is made anew when
// others edit the same source.
const editTries = 10

func (a *api) editSource(ctx context.Context, in *editSourceInput) (*editedSource, error) {
	var err error
	for range editTries {
		if err = a.editOnce(ctx, in); err == nil {
			return a.getSource(ctx, &getSourceInput{ID: in.ID})
		}
		if in.IfMatch != "" || !errors.Is(err, freshet.ErrStale) {
			break
		}
	}
	return nil, err
}

// editOnce applies the patch to the source as it is. If somebody else edits it
// meanwhile, it changes nothing.
func (a *api) editOnce(ctx context.Context, in *editSourceInput) error {
	w, err := a.Store.Source(ctx, in.ID)
	if err != nil {
		return ofSource(in.ID, err)
	}
	if err := in.IfMatch.check("", string(w.ID), w.Revision); err != nil {
		return err
	}
	edited, err := merged(newSourceOf(w.Source), dialled(in.Body))
	if err != nil {
		return err
	}
	if edited.URL == freshet.MaskURL(w.URL) { // as it was shown, which leaves it as it is
		edited.URL = w.URL
	}
	s, err := a.admit(edited)
	if err != nil {
		return err
	}
	if err := a.trust(s, &w.Source); err != nil {
		return err
	}
	s.ID, s.Origin, s.Created, s.Revision = w.ID, w.Origin, w.Created, w.Revision
	a.edits.RLock()
	defer a.edits.RUnlock()
	if err := a.Daemon.UpdateSource(ctx, s); err != nil {
		return ofSource(in.ID, err)
	}
	return nil
}

type removeSourceInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch ifMatch          `header:"If-Match" doc:"Remove only if the source still has this ETag; * means any"`
	Purge   bool             `query:"purge" doc:"Also delete its history, for good"`
}

func (a *api) removeSource(ctx context.Context, in *removeSourceInput) (*struct{}, error) {
	if in.IfMatch != "" {
		a.edits.Lock() // no edit comes between the look and the removal
		defer a.edits.Unlock()
		w, err := a.Store.Source(ctx, in.ID)
		if err != nil {
			return nil, ofSource(in.ID, err)
		}
		if err := in.IfMatch.check("", string(w.ID), w.Revision); err != nil {
			return nil, err
		}
	}
	if err := a.Daemon.RemoveSource(ctx, in.ID, in.Purge); err != nil {
		return nil, ofSource(in.ID, err)
	}
	return nil, nil
}

type pollSourceInput struct {
	ID   freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Wait string           `query:"wait" default:"30s" doc:"How long to wait for the poll, such as 10s; 0 means not to wait"`
	Now  bool             `query:"now" doc:"Ignore the source's min_gap; the budget, host delays and Retry-After still apply"`
}

type pollSourceOutput struct {
	Status int
	Body   client.PollAnswer
}

// maxPollWait is the longest that a request waits for its poll.
const maxPollWait = 5 * time.Minute

func (a *api) pollSource(ctx context.Context, in *pollSourceInput) (*pollSourceOutput, error) {
	wait, err := waitOf(in.Wait, maxPollWait)
	if err != nil {
		return nil, err
	}
	queued := &pollSourceOutput{Status: http.StatusAccepted, Body: client.PollAnswer{Queued: true}}
	if in.Now {
		if err := a.Daemon.Hurry(ctx, in.ID); err != nil {
			return nil, ofSource(in.ID, err)
		}
	}
	hold, err := a.Daemon.HoldAsked(ctx, in.ID)
	if err != nil {
		return nil, ofSource(in.ID, err)
	}
	queued.Body.Hold = holdOf(hold)
	if wait == 0 || hold.Until.After(a.Now().Add(wait)) { // in vain
		if err := a.Daemon.Ask(ctx, in.ID); err != nil {
			return nil, ofSource(in.ID, err)
		}
		return queued, nil
	}
	ctx, cancel := a.patience(ctx, wait)
	defer cancel()
	o, err := a.Daemon.Poll(ctx, in.ID)
	switch {
	case errors.Is(err, errWaited):
		if hold, err := a.Daemon.HoldAsked(context.WithoutCancel(ctx), in.ID); err == nil {
			queued.Body.Hold = holdOf(hold)
		}
		return queued, nil
	case err != nil:
		return nil, ofSource(in.ID, err)
	}
	epochs, err := a.Store.OutcomeEpochs(ctx)
	if err != nil {
		return nil, err
	}
	outcome := outcomeOf(o, epochs)
	return &pollSourceOutput{Status: http.StatusOK, Body: client.PollAnswer{Outcome: &outcome}}, nil
}
