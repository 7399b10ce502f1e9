package config

import (
	"fmt"
	"slices"
	"strings"

	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
	"freshet/internal/mask"
)

// A Problem is one thing that is wrong with a configuration file.
type Problem struct {
	Line, Col int // from 1; Col counts characters
	Width     int // characters to underline
	Text      string
}

// An Error is all that is wrong with a configuration file.
type Error struct {
	File     string
	Problems []Problem
	lines    []string
}

// Error counts the problems, or returns the only one.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "the configuration has a problem: " + e.head(e.Problems[0])
	}
	return fmt.Sprintf("the configuration has %d problems, the first at %s", len(e.Problems), e.head(e.Problems[0]))
}

// Is reports whether target is [invalid.ErrInput].
func (e *Error) Is(target error) bool { return target == invalid.ErrInput }

func (e *Error) head(p Problem) string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, p.Line, p.Col, mask.Shorten(mask.Text(p.Text), 500))
}

// mostDetails is how many problems are shown at once. More than that have one
// cause, and would push the first off the screen.
const mostDetails = 50

// Details shows the first problems with their lines and a mark under the place.
func (e *Error) Details() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == mostDetails {
			fmt.Fprintf(&b, "... and %d more problems; fix these first\n", len(e.Problems)-i)
			break
		}
		fmt.Fprintln(&b, e.head(p))
		if p.Line < 1 || p.Line > len(e.lines) {
			continue
		}
		line := shown(strings.TrimSuffix(e.lines[p.Line-1], "\r"))
		fmt.Fprintf(&b, "%5d | %s\n      | %s%s\n", p.Line, line, indentTo(line, p.Col), strings.Repeat("^", max(1, min(p.Width, 80))))
	}
	return b.String()
}

// secretValue is a value in YAML that nobody else should see, after its key.
var secretValue = lazyregexp.New(`(?i)((?:secret|password|passwd|token|key)["']?\s*[:=]\s*)("[^"]*"?|'[^']*'?|[^\s,}\]#][^,}\]]*)`)

// longWord is a word as long as only keys are.
var longWord = lazyregexp.New(`[A-Za-z0-9+=_-]{30,}`)

// shown returns a line of the file as it can be shown: without secrets, and not
// too long.
func shown(line string) string {
	line = secretValue.ReplaceAllString(mask.Text(line), "${1}***")
	return mask.Shorten(longWord.ReplaceAllString(line, "***"), 200)
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

func (e *Error) sort() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
}
