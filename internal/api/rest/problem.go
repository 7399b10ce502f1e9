package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/mask"
)

// A Problem is an error as a response, as of RFC 9457.
type Problem struct {
	client.Problem
	Retry int `json:"-"` // seconds after which to try again; 0 leaves that to the status
}

// NewProblem returns a Problem without particulars.
func NewProblem(status int, detail string) *Problem {
	return &Problem{Problem: client.Problem{Status: status, Title: http.StatusText(status), Detail: detail}}
}

// Invalid returns the Problem of one wrong value, at a location such as "query.wait" or
// "body.url".
func Invalid(location, reason string, value any) *Problem {
	p := NewProblem(http.StatusUnprocessableEntity, "validation failed")
	p.Errors = []*client.ErrorDetail{{Location: location, Message: reason, Value: value}}
	return p
}

// Forbidden returns the Problem of a caller who may not do something.
func Forbidden(detail string) *Problem { return NewProblem(http.StatusForbidden, detail) }

// OfSource names the source that an error is about. The store names one that was not found
// already.
func OfSource(id freshet.SourceID, err error) error {
	if errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	return fmt.Errorf("source %s: %w", id, err)
}

// Write sends the problem as the whole response.
func (p *Problem) Write(w http.ResponseWriter) {
	p.tidy()
	after := p.Retry
	if after == 0 && p.Status == http.StatusServiceUnavailable {
		after = 1
	}
	if after != 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = encodeJSON(w, p) // the client may be gone
}

// Problem returns the problem of an error for a response that has begun, with bounded quotations.
func (s *Server) Problem(err error) *Problem {
	p := s.problemOf(err)
	p.tidy()
	return p
}

// problemOf returns the Problem of an error.
func (s *Server) problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := NewProblem(s.statusOf(err), err.Error())
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
	if f, ok := errors.AsType[*invalid.Error](err); ok {
		p.Detail = "validation failed"
		p.Errors = []*client.ErrorDetail{{Location: "body." + f.Field, Message: f.Reason}}
	}
	return p
}

func (s *Server) statusOf(err error) int {
	if _, ok := errors.AsType[*invalid.Error](err); ok {
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
	case errors.Is(err, freshet.ErrBusy), errors.Is(err, freshet.ErrStorage), errors.Is(err, auth.ErrOverloaded),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	if s.Status != nil {
		if status := s.Status(err); status != 0 {
			return status
		}
	}
	return http.StatusInternalServerError
}

// An error repeats what a client sent only so far that the client recognizes it, and
// without what looks like a secret.
const (
	maxDetail = 1000 // bytes
	maxValue  = 200
	maxErrors = 20
)

// tidy bounds what a Problem repeats.
func (p *Problem) tidy() {
	p.Detail, p.Hint = echoText(p.Detail), echoText(p.Hint)
	p.Errors = p.Errors[:min(len(p.Errors), maxErrors)]
	for i, e := range p.Errors {
		p.Errors[i] = &client.ErrorDetail{Location: mask.Shorten(e.Location, maxValue), Message: echoText(e.Message), Value: echoValue(e.Value)}
	}
}

func echoText(text string) string { return mask.Shorten(mask.Text(text), maxDetail) }

// echoValue returns a wrong value unchanged if it is short, and otherwise the beginning of
// its text.
func echoValue(v any) any {
	if v == nil {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		encoded, err := json.Marshal(v)
		if err != nil {
			return mask.Shorten(fmt.Sprint(v), maxValue)
		}
		if masked := mask.Text(string(encoded)); len(encoded) <= maxValue && masked == string(encoded) {
			return v
		}
		text = string(encoded)
	}
	return mask.Shorten(mask.Text(text), maxValue)
}
