// Package invalid reports invalid fields of user input.
package invalid

import (
	"errors"
	"fmt"
)

// An Error names the field of the input that is invalid, and the reason.
type Error struct {
	Field  string // as the user wrote it, such as "select.css"
	Reason string
}

// Error returns the field and the reason.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

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
