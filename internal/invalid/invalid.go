// Package invalid reports invalid input of users.
package invalid

import (
	"errors"
	"fmt"
)

// ErrInput matches every error that the user mends by other input, as opposed to one of the
// network, the disk or the program.
var ErrInput = errors.New("invalid input")

// Input returns err as one that matches [ErrInput]; nil if err is nil.
func Input(err error) error {
	if err == nil {
		return nil
	}
	return inputError{err}
}

type inputError struct{ error }

func (e inputError) Is(target error) bool { return target == ErrInput }
func (e inputError) Unwrap() error        { return e.error }

// An Error names the field of the input that is invalid, and the reason.
type Error struct {
	Field  string // as the user wrote it, such as "select.css"
	Reason string
}

// Error returns the field and the reason.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Is reports whether target is [ErrInput].
func (e *Error) Is(target error) bool { return target == ErrInput }

// Errorf returns an [Error] for a field, with a formatted reason.
func Errorf(field, format string, args ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// FieldOf returns the invalid field that err names, if it names one.
func FieldOf(err error) (field string, ok bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return "", false
	}
	return e.Field, true
}

// ReasonOf returns err without the name of the field, for a reader who already
// sees the field.
func ReasonOf(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return errors.New(e.Reason)
	}
	return err
}
