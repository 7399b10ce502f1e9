package freshet

import (
	"cmp"
	"errors"
	"fmt"
)

// Errors that callers test for with errors.Is.
var (
	// ErrNotFound means that there is no such source, version or place.
	ErrNotFound = errors.New("not found")

	// ErrConflict means that what was to be added is there already.
	ErrConflict = errors.New("already exists")

	// ErrStale means that what was to be edited has been changed meanwhile.
	ErrStale = errors.New("changed by someone else")

	// ErrGone means that a place is not one of the log, or not any more.
	ErrGone = errors.New("not a position in this log")

	// ErrBusy means that another process holds the data.
	ErrBusy = errors.New("in use by another process")

	// ErrDamaged means that stored data is not what was written.
	ErrDamaged = errors.New("damaged data")

	// ErrStorage means that the store cannot write: a full disk, a failed
	// sync, a read-only file system. Nothing that was acknowledged is lost,
	// but nothing new can be captured until it is mended.
	ErrStorage = errors.New("the data cannot be written")

	// ErrStoreFailed means that a sync of the disk failed, so that what the
	// disk holds is not known. The store writes nothing more until it has been
	// closed and opened again. It comes together with ErrStorage.
	ErrStoreFailed = errors.New("stopped writing after a failed disk write")
)

// A ConflictError says which source is in the way of one that was to be added.
type ConflictError struct {
	Existing SourceID
	URL      string // that was to be watched
	Taken    string // the URL of Existing, if that is another and its ID is in the way
}

// Error names the source in the way.
func (e *ConflictError) Error() string {
	if e.Taken != "" {
		return fmt.Sprintf("the id %s is already used by %s", e.Existing, e.Taken)
	}
	return fmt.Sprintf("%s is already watched as source %s", e.URL, e.Existing)
}

// Hint says what to do about it.
func (e *ConflictError) Hint() string {
	if e.Taken != "" {
		return fmt.Sprintf("choose another id, or leave it out to get one; freshet edit %s --url URL changes what that source watches", e.Existing)
	}
	return fmt.Sprintf("freshet edit %s changes its settings; to watch the same URL twice, use a different selector", e.Existing)
}

// Is makes a ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// A StaleError says that an edit was made of a source as it no longer is: it has
// been written since by somebody else. Other things than sources have a kind.
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

// A HintedError is an error together with what the operator can do about it.
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
