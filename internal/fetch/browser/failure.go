package browser

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// fail returns a failure of a class with advice, which may be empty.
func fail(class failure.Class, hint, format string, args ...any) *freshet.FetchError {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...), Hint: hint}
}

// reasonOf returns why a rendering came to its end: by what ended it, if something
// did, and otherwise by the error that it met.
func reasonOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return fail(failure.Canceled, "", "given up: %w", err)
	}
	return fail(failure.RenderCrashed, "", "the browser: %w", err)
}
