package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"freshet"
)

// A problem is one thing that is wrong with a configuration file.
type problem struct {
	line, col int // from 1; col counts characters
	width     int // characters to underline
	text      string
}

// A configError is all that is wrong with a configuration file.
type configError struct {
	file     string
	lines    []string
	problems []problem
}

// Error counts the problems, or tells of the only one.
func (e *configError) Error() string {
	if len(e.problems) == 1 {
		return "the configuration is not usable: " + e.head(e.problems[0])
	}
	return fmt.Sprintf("the configuration is not usable: %d problems, the first at %s", len(e.problems), e.head(e.problems[0]))
}

func (e *configError) head(p problem) string {
	return fmt.Sprintf("%s:%d:%d: %s", e.file, p.line, p.col, p.text)
}

// Details shows every problem with its line and a mark under the place.
func (e *configError) Details() string {
	var b strings.Builder
	for _, p := range e.problems {
		fmt.Fprintln(&b, e.head(p))
		if p.line < 1 || p.line > len(e.lines) {
			continue
		}
		line := harmless(strings.TrimSuffix(e.lines[p.line-1], "\r"))
		fmt.Fprintf(&b, "%5d | %s\n      | %s%s\n", p.line, line, indentTo(line, p.col), strings.Repeat("^", max(1, p.width)))
	}
	return b.String()
}

// indentTo returns the blank space before a column of line, keeping its tabs.
func indentTo(line string, col int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= col-1 {
			break
		}
		if r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (e *configError) sort() {
	slices.SortStableFunc(e.problems, func(a, b problem) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.col - b.col
	})
}

// reason returns what an error says beyond the name of the field, which the
// reader sees already.
func reason(err error) error {
	if invalid, ok := errors.AsType[*freshet.InvalidError](err); ok {
		return errors.New(invalid.Reason)
	}
	return err
}

// invalidField returns the field that an error names, if it names one.
func invalidField(err error) (string, bool) {
	invalid, ok := errors.AsType[*freshet.InvalidError](err)
	if !ok {
		return "", false
	}
	return invalid.Field, true
}
