package main

import (
	"errors"
	"fmt"
	"strings"

	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// The exit codes, which scripts rely on.
const (
	exitError    = cli.ExitError
	exitUsage    = cli.ExitUsage
	exitStorage  = cli.ExitStorage
	exitNotFound = cli.ExitNotFound
	exitConflict = cli.ExitConflict
	exitChanged  = 6
	exitDenied   = 7
)

// exitHelp is the same for people.
const exitHelp = `Exit codes:
  0  success
  1  something went wrong
  2  wrong input: a flag, an argument, a file or a value
  3  the data cannot be read or written (disk full, damaged file)
  4  no such source, version or cursor
  5  conflict: already watched, or the data directory or port is in use
  6  something changed (only freshet serve once --exit-code)
  7  the URL may not be fetched (only freshet check egress)`

// usagef returns an error about the command line.
func usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// exitCode returns the code that tells a script of err.
func exitCode(err error) int {
	switch err {
	case errChanged:
		return exitChanged
	case errDenied:
		return exitDenied
	}
	return cli.ExitCode(err)
}

// errNotWell ends a verb with exit code 1 after it has said all that there is to
// say.
var errNotWell = errors.New("not all is well")

// complain tells the operator what went wrong and, if it is known, what to do.
func (p *program) complain(err error) {
	if err == errNotWell || err == errChanged || err == errDenied {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			p.complain(err)
		}
		return
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		p.showProblems(c)
	}
	s := display.Screen{Width: p.columnsOf(p.err)}
	for line := range strings.SplitSeq("freshet: "+strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(p.err, s.Message(line))
	}
	if hint := freshet.HintOf(err); hint != "" {
		fmt.Fprintln(p.err, s.Message("hint: "+hint))
	}
}

// showProblems shows what is wrong with a configuration file: what, fitted to the
// screen, and then the line that it is about, as it is.
func (p *program) showProblems(c *config.Error) {
	s := display.Screen{Width: p.columnsOf(p.err)}
	for line := range strings.Lines(display.HarmlessLines(c.Details())) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " ") {
			line = s.Message(line)
		}
		fmt.Fprintln(p.err, line)
	}
}
