package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A Problem is a request that the API refuses: problem details as of RFC 9457.
type Problem struct {
	// Type is a URI of documentation on this kind of problem.
	Type string `json:"type,omitempty" format:"uri" default:"about:blank" example:"https://example.com/errors/example" doc:"A URI reference to human-readable documentation for the error."`

	// Title is the text of the status.
	Title string `json:"title,omitempty" example:"Bad Request" doc:"A short, human-readable summary of the problem type. This value should not change between occurrences of the error."`

	// Status is the HTTP status code.
	Status int `json:"status,omitempty" example:"400" doc:"HTTP status code"`

	// Detail says what is wrong.
	Detail string `json:"detail,omitempty" example:"Property foo is required but is missing." doc:"A human-readable explanation specific to this occurrence of the problem."`

	// Instance is a URI of this one occurrence.
	Instance string `json:"instance,omitempty" format:"uri" example:"https://example.com/error-log/abc123" doc:"A URI reference that identifies the specific occurrence of the problem."`

	// Errors are the values that are wrong, if the request has such.
	Errors []*ErrorDetail `json:"errors,omitempty" doc:"Optional list of individual error details"`

	// Existing is the source in the way, if the status is 409.
	Existing freshet.SourceID `json:"existing,omitempty"`

	// Gone says where to go on, if the status is 410.
	Gone *Gone `json:"gone,omitempty"`

	// Hint is what the operator can do about it, if anything.
	Hint string `json:"hint,omitempty"`
}

// A Gone says where a reader goes on whose cursor is not one of the log.
type Gone struct {
	// Cursor is what was asked for.
	Cursor freshet.Place `json:"cursor"`

	// Resume is the last cursor that this log has in common with the one that
	// gave out Cursor; 0 if none is known.
	Resume freshet.Place `json:"resume" doc:"Continue after this cursor: everything up to there is the same; 0 if that is not known"`

	// End is the end of this log.
	End freshet.Place `json:"end" doc:"Continue after this cursor to get only new changes"`
}

// An ErrorDetail is one wrong value of a request.
type ErrorDetail struct {
	// Message says what is wrong with it.
	Message string `json:"message,omitempty" doc:"Error message text"`

	// Location is its place, such as "body.url" or "query.wait".
	Location string `json:"location,omitempty" doc:"Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id'"`

	// Value is what was sent.
	Value any `json:"value,omitempty" doc:"The value at the given location"`
}

// Error says what is wrong, field by field.
func (p *Problem) Error() string {
	if len(p.Errors) == 0 {
		return p.Detail
	}
	var faults []string
	for _, d := range p.Errors {
		field := strings.TrimPrefix(strings.TrimPrefix(d.Location, "body."), "query.")
		faults = append(faults, strings.TrimPrefix(field+": "+d.Message, ": "))
	}
	return strings.Join(faults, "; ")
}

// Is makes the errors of package freshet that have crossed the API known again.
func (p *Problem) Is(target error) bool {
	switch target {
	case invalid.ErrInput:
		return p.Status == http.StatusBadRequest || p.Status == http.StatusUnprocessableEntity
	case freshet.ErrNotFound:
		return p.Status == http.StatusNotFound
	case freshet.ErrConflict:
		return p.Status == http.StatusConflict
	case freshet.ErrStale:
		return p.Status == http.StatusPreconditionFailed
	case freshet.ErrGone:
		return p.Status == http.StatusGone
	case freshet.ErrStorage, freshet.ErrDamaged: // no status of their own
		return p.Status >= 500 && strings.Contains(p.Detail, target.Error())
	}
	return false
}

// As gives a problem that says where to go on as a *freshet.GoneError.
func (p *Problem) As(target any) bool {
	gone, ok := target.(**freshet.GoneError)
	if ok && p.Gone != nil {
		*gone = &freshet.GoneError{Place: p.Gone.Cursor, Resume: p.Gone.Resume, End: p.Gone.End}
	}
	return ok && p.Gone != nil
}

// refusal reads why the API refused.
func refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	p := &Problem{}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil || p.Status == 0 {
		p.Status, p.Detail = resp.StatusCode, "the server answered "+resp.Status
	}
	return freshet.WithHint(p, p.Hint)
}
