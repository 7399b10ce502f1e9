package freshet

import (
	"cmp"
	"errors"
	"fmt"

	"freshet/internal/mask"
)

// Errors that callers test for with errors.Is.
var (
	// ErrNotFound means that there is no such source, version or position.
	ErrNotFound = errors.New("not found")

	// ErrConflict means that the object to add exists already.
	ErrConflict = errors.New("already exists")

	// ErrStale means that the object to edit has changed meanwhile.
	ErrStale = errors.New("changed by someone else")

	// ErrGone means that a position is not, or no longer, in the log.
	ErrGone = errors.New("not a position in this log")

	// ErrBusy means that another process holds the data.
	ErrBusy = errors.New("in use by another process")

	// ErrDamaged means that stored data is not what was written.
	ErrDamaged = errors.New("damaged data")

	// ErrStorage means that the store cannot write: a full disk, a failed
	// sync, a read-only file system. No acknowledged data is lost, but nothing new can
	// be captured until the cause is fixed.
	ErrStorage = errors.New("the data cannot be written")

	// ErrStoreFailed means that a sync of the disk failed, so that the contents of the
	// disk are unknown. The store writes nothing more until it is reopened. It comes
	// together with ErrStorage.
	ErrStoreFailed = errors.New("stopped writing after a failed disk write")
)

// A ConflictError names the source that conflicts with a new one.
type ConflictError struct {
	Existing SourceID
	URL      string // of the new source
	Taken    string // the URL of Existing, if the conflict is about its ID
}

// Error names the conflicting source, without secrets in URLs.
func (e *ConflictError) Error() string {
	if e.Taken != "" {
		return fmt.Sprintf("the id %s is already used by %s", e.Existing, mask.URL(e.Taken))
	}
	return fmt.Sprintf("%s is already watched as source %s", mask.URL(e.URL), e.Existing)
}

// Hint returns advice.
func (e *ConflictError) Hint() string {
	if e.Taken != "" {
		return fmt.Sprintf("choose another id, or leave it out to get one; freshet edit %s --url URL changes what that source watches", e.Existing)
	}
	return fmt.Sprintf("freshet edit %s changes its settings; to watch the same URL twice, use a different selector", e.Existing)
}

// Is makes a ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// A StaleError reports an edit of an outdated revision. Kind names the object if it is not a
// source.
type StaleError struct {
	Kind          string // such as "query"; "" means a source
	Source        SourceID
	Given, Stored int64 // revisions
}

// Error says which revisions differ.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s %s was changed by someone else: you edited revision %d, but the current one is %d", cmp.Or(e.Kind, "source"), e.Source, e.Given, e.Stored)
}

// Is makes a StaleError an ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// A HintedError is an error with advice for the operator.
type HintedError struct {
	Err  error
	Hint string
}

// Error returns the error without the hint.
func (e *HintedError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *HintedError) Unwrap() error { return e.Err }

// WithHint attaches advice to err.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &HintedError{Err: err, Hint: hint}
}

// HintOf returns the advice attached to err, if any.
func HintOf(err error) string {
	if h, ok := errors.AsType[*HintedError](err); ok {
		return h.Hint
	}
	if f, ok := errors.AsType[*FetchError](err); ok {
		return f.Hint
	}
	if g, ok := errors.AsType[*GoneError](err); ok {
		return g.Hint()
	}
	if c, ok := errors.AsType[*ConflictError](err); ok {
		return c.Hint()
	}
	return ""
}
