// Package cli has what the commands freshet and freshet-lab have in common:
// errors of a command line and their exit codes, flags that both take, JSON
// output, and progress on a terminal.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
	"freshet/internal/units"
)

// The exit codes, which scripts rely on.
const (
	ExitError    = 1
	ExitUsage    = 2
	ExitStorage  = 3
	ExitNotFound = 4
	ExitConflict = 5
)

// ExitCode returns the code that tells a script of err.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, invalid.ErrInput):
		return ExitUsage
	case errors.Is(err, freshet.ErrNotFound), errors.Is(err, freshet.ErrGone):
		return ExitNotFound
	case errors.Is(err, freshet.ErrConflict), errors.Is(err, freshet.ErrBusy), errors.Is(err, syscall.EADDRINUSE):
		return ExitConflict
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged), errors.Is(err, freshet.ErrStoreFailed):
		return ExitStorage
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a file that was named
		return ExitUsage
	}
	return ExitError
}

// Usagef returns an error about the command line.
func Usagef(format string, args ...any) error {
	return invalid.Input(fmt.Errorf(format, args...))
}

// WrongFlag returns an error that names the flag that err is about; nil if err is.
func WrongFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return Usagef("--%s: %w", name, err)
}

// WrongField turns an error about a field into one about the flag of that name.
func WrongField(err error) error {
	field, ok := invalid.FieldOf(err)
	if !ok {
		return err
	}
	wrong := WrongFlag(strings.ReplaceAll(field, " ", "-"), invalid.ReasonOf(err))
	if hint := freshet.HintOf(err); hint != "" {
		return freshet.WithHint(wrong, hint)
	}
	return wrong
}

// MissingFlag returns an error about a flag without which a command has nothing to do.
func MissingFlag(cmd *cobra.Command, flag, example string) error {
	return freshet.WithHint(Usagef("%s: --%s is missing", cmd.Name(), flag), "add --"+flag+" "+example)
}

// FlagError explains an error of the flag parser, and says what was probably meant.
func FlagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		reason := errors.Unwrap(invalid)
		if errors.As(err, new(*strconv.NumError)) {
			reason = fmt.Errorf("%q is not a number", invalid.GetValue())
		}
		return WrongFlag(invalid.GetFlag().Name, reason)
	}
	wrong := Usagef("%w", err)
	if cmd.HasParent() {
		wrong = Usagef("%s: %w", cmd.Name(), err)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if n := suggest.Nearest(unknown.GetSpecifiedName(), known); n != "" {
			return freshet.WithHint(wrong, "did you mean --"+n+"?")
		}
	}
	return freshet.WithHint(wrong, cmd.CommandPath()+" --help lists all flags")
}

// Takes checks the number of arguments of a command; most below zero means any number.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		fit := len(args) >= least && (most < 0 || len(args) <= most)
		if i := slices.Index(args, ""); i >= 0 && fit {
			return freshet.WithHint(Usagef("%s: argument %d is empty", cmd.Name(), i+1), "usage: "+cmd.UseLine())
		}
		if fit {
			return nil
		}
		what := "too many arguments"
		if len(args) < least {
			what = "too few arguments"
		}
		return freshet.WithHint(Usagef("%s: %s", cmd.Name(), what), "usage: "+cmd.UseLine())
	}
}

// JSONFlag adds the flag with which a command prints its data for programs.
func JSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// WriteJSON writes v as an indented document.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WriteJSONLine writes v as JSON on one line.
func WriteJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// A Length is a flag that takes a length of time as people write it.
type Length time.Duration

// String returns the length as it would be written. None is "0", which help does not
// show as a default.
func (f *Length) String() string {
	if *f == 0 {
		return "0"
	}
	return units.FormatDuration(time.Duration(*f))
}

// Type returns what the flag takes, for its help.
func (f *Length) Type() string { return "TIME" }

// Set reads a length of time.
func (f *Length) Set(v string) error {
	d, err := units.ParseDuration(v)
	*f = Length(d)
	return err
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
