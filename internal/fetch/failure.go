package fetch

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// fail returns a failure of a class, with a formatted message.
func fail(class failure.Class, format string, args ...any) *freshet.FetchError {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...)}
}

// hinted returns e with advice for the operator.
func hinted(e *freshet.FetchError, format string, args ...any) *freshet.FetchError {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// bare returns what is at the bottom of a network error, without the
// addresses and system calls around it, and fit to be shown.
func bare(err error) error {
	for {
		op, ok := errors.AsType[*net.OpError](err)
		if !ok {
			return tamed{err}
		}
		err = op.Err
	}
}

// A tamed error may quote what a server sent: it is cut to a line's length and
// holds no control characters.
type tamed struct{ error }

// Error returns the text, tamed.
func (t tamed) Error() string {
	const most = 300
	text := t.error.Error()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Unwrap returns the error as it was.
func (t tamed) Unwrap() error { return t.error }
