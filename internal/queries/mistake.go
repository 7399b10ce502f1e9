package queries

import (
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A Mistake says where a condition is wrong, and why.
type Mistake struct {
	Field        string // of the query: when, value or window.by
	Line, Column int    // from 1
	Reason       string
	Help         string // what to do about it; "" if there is nothing to say
}

// Error names the field and the place.
func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.Field, m.Line, m.Column, m.Reason)
}

// Unwrap returns the mistake as that of a field, with the hint.
func (m *Mistake) Unwrap() error {
	err := invalid.Errorf(m.Field, "line %d, column %d: %s", m.Line, m.Column, m.Reason)
	if m.Help == "" {
		return err
	}
	return freshet.WithHint(err, m.Help)
}
