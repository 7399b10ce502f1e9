package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"freshet"
	"freshet/config"
)

// The exit codes, which scripts rely on.
const (
	exitError    = 1
	exitUsage    = 2
	exitStorage  = 3
	exitNotFound = 4
	exitConflict = 5
)

// exitHelp is the same for people.
const exitHelp = `Exit codes:
  0  done
  1  something went wrong
  2  the command line is wrong
  3  the data cannot be read or written: full disk, damaged file
  4  there is no such source, version or cursor
  5  in the way: already watched, data or port in use`

// A usageError is a command line that makes no sense.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitCode returns the code that tells a script of err.
func exitCode(err error) int {
	var usage usageError
	var flag *config.FlagError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &flag):
		return exitUsage
	case errors.Is(err, freshet.ErrNotFound), errors.Is(err, freshet.ErrGone):
		return exitNotFound
	case errors.Is(err, freshet.ErrConflict), errors.Is(err, freshet.ErrBusy), errors.Is(err, syscall.EADDRINUSE):
		return exitConflict
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged), errors.Is(err, freshet.ErrStoreFailed):
		return exitStorage
	}
	return exitError
}

// errNotWell ends a verb with exit code 1 after it has said all that there is to
// say.
var errNotWell = errors.New("not all is well")

// complain tells the operator what went wrong and, if it is known, what to do.
func (p *program) complain(err error) {
	if err == errNotWell {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			p.complain(err)
		}
		return
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprint(p.err, harmlessLines(c.Details()))
	}
	s := screen{width: p.columnsOf(p.err)}
	for line := range strings.SplitSeq("freshet: "+strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(p.err, s.message(line))
	}
	if hint := freshet.HintOf(err); hint != "" {
		fmt.Fprintln(p.err, s.message("hint: "+hint))
	}
}
