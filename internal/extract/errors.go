package extract

import (
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// The classes of failed extraction. All of them are a failure.Extract.
const (
	FailSelector failure.Class = failure.Extract + ".selector" // the selector or path matches nothing
	FailParse    failure.Class = failure.Extract + ".parse"    // the body is not what the recipe says
	FailLimit    failure.Class = failure.Extract + ".limit"    // reading it would take too much
	FailEncoding failure.Class = failure.Extract + ".encoding" // its characters cannot be decoded
)

// An Error says why a response could not be read.
type Error struct {
	Class failure.Class
	Err   error
}

// Error returns the reason in words.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// asText is what to do about a document that is too much to take apart.
const asText = "Set the kind to text to compare it as it is."

// fail returns an Error with advice for the operator.
func fail(class failure.Class, hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = freshet.WithHint(err, hint)
	}
	return &Error{Class: class, Err: err}
}
