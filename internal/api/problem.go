package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
)

// A Problem is an error as the API tells it.
type Problem struct {
	client.Problem
	retry int // seconds after which to try again; 0 if that is for the status to say
}

// problem returns a Problem without particulars.
func problem(status int, detail string) *Problem {
	return &Problem{Problem: client.Problem{Status: status, Title: http.StatusText(status), Detail: detail}}
}

// GetStatus implements [huma.StatusError].
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements [huma.HeadersError]. What cannot be done for the moment is told with
// when to try again.
func (p *Problem) GetHeaders() http.Header {
	after := p.retry
	if after == 0 && p.Status == http.StatusServiceUnavailable {
		after = 1
	}
	if after == 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(after)}}
}

// ContentType implements [huma.ContentTypeFilter].
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// invalid returns the Problem of one wrong value, at a place such as
// "query.wait" or "body.url".
func invalid(location, reason string, value any) *Problem {
	p := problem(http.StatusUnprocessableEntity, "validation failed")
	p.Errors = []*client.ErrorDetail{{Location: location, Message: reason, Value: value}}
	return p
}

// problemOf tells err in the words of HTTP.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := problem(statusOf(err), err.Error())
	p.Hint = freshet.HintOf(err)
	if c, ok := errors.AsType[*freshet.ConflictError](err); ok {
		p.Existing = c.Existing
	}
	if g, ok := errors.AsType[*freshet.GoneError](err); ok {
		p.Gone = &client.Gone{Cursor: g.Place, Resume: g.Resume, End: g.End}
	}
	if errors.Is(err, freshet.ErrStale) && p.Hint == "" {
		p.Hint = "read the source again and repeat the edit"
	}
	if f, ok := errors.AsType[*freshet.InvalidError](err); ok {
		p.Detail = "validation failed"
		p.Errors = []*client.ErrorDetail{{Location: "body." + f.Field, Message: f.Reason}}
	}
	return p
}

// ofSource says which source an error is about. One that was not found is named
// by the store already.
func ofSource(id freshet.SourceID, err error) error {
	if errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	return fmt.Errorf("source %s: %w", id, err)
}

func statusOf(err error) int {
	if _, ok := errors.AsType[*freshet.InvalidError](err); ok {
		return http.StatusUnprocessableEntity
	}
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, freshet.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, freshet.ErrStale):
		return http.StatusPreconditionFailed
	case errors.Is(err, freshet.ErrGone):
		return http.StatusGone
	case errors.Is(err, daemon.ErrNoNumbers):
		return http.StatusNotImplemented
	case errors.Is(err, freshet.ErrBusy), errors.Is(err, freshet.ErrStorage), errors.Is(err, daemon.ErrNotRunning),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// write sends the problem as the whole response.
func (p *Problem) write(w http.ResponseWriter) {
	p.tidy()
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	// The client may be gone, and there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(p)
}
