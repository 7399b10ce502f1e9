// Package display fits output to a terminal: colours, columns, tables and diffs.
package display

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"freshet/internal/cli"
)

// A Screen is what output is fitted to: its colours, and how many columns it
// has. Output that goes into a file or a pipe has neither colour nor an end on
// the right.
type Screen struct {
	Palette
	Width int // in columns; zero means no limit
}

// LeastWidth is the narrowest screen that output is fitted to.
const LeastWidth = 40

// Columns returns how many columns a text takes on the screen. The codes that
// paint it take none.
func Columns(s string) (n int) {
	painted := false
	for _, r := range s {
		switch {
		case r == '\x1b':
			painted = true
		case painted:
			painted = r != 'm'
		default:
			n += columnsOfRune(r)
		}
	}
	return n
}

func columnsOfRune(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Pad fills a text with blanks up to a width.
func Pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-Columns(s)))
}

// Shorten cuts the middle out of a text that takes more than so many columns.
// What makes an id or a URL differ from others is at its ends.
func Shorten(s string, most int) string {
	if Columns(s) <= most {
		return s
	}
	if most <= 0 {
		return ""
	}
	r := []rune(s)
	tail := len(r)
	for rest := (most - 1) / 3; tail > 0 && columnsOfRune(r[tail-1]) <= rest; tail-- {
		rest -= columnsOfRune(r[tail-1])
	}
	head := 0
	for rest := most - 1 - Columns(string(r[tail:])); head < tail && columnsOfRune(r[head]) <= rest; head++ {
		rest -= columnsOfRune(r[head])
	}
	return strings.TrimSpace(string(r[:head])) + "…" + strings.TrimSpace(string(r[tail:]))
}

// Prose breaks a text between words so that it fits the screen. Lines after the
// first begin with the indent.
func (s Screen) Prose(text, indent string) string {
	return strings.Join(Wrap(text, s.Width, indent), "\n")
}

// Message is prose in which no word is shortened, since it may be a command to
// copy.
func (s Screen) Message(text string) string {
	if s.Width == 0 {
		return text
	}
	const indent = "  "
	most := s.Width
	for word := range strings.FieldsSeq(text) {
		most = max(most, Columns(word)+Columns(indent))
	}
	return strings.Join(Wrap(text, most, indent), "\n")
}

// Wrap breaks a text between words into lines of at most so many columns; zero
// means no limit. A word that is longer than a line is shortened.
func Wrap(text string, most int, indent string) []string {
	if most <= 0 || Columns(text) <= most {
		return []string{text}
	}
	begin := text[:len(text)-len(strings.TrimLeft(text, " "))] // blanks at the start are wanted
	line, empty := begin, true
	var lines []string
	for _, word := range strings.Fields(text) {
		if !empty && Columns(line)+1+Columns(word) > most {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if empty {
			line += Shorten(word, max(1, most-Columns(line)))
		} else {
			line += " " + word
		}
		empty = false
	}
	return append(lines, line)
}

// ShortenEnd cuts the end off a text that takes more than so many columns, after
// a word if it can.
func ShortenEnd(s string, most int) string {
	if Columns(s) <= most {
		return s
	}
	line := Wrap(s, max(1, most-2), "")[0]
	return line + " …"
}

// A Palette paints text, or leaves it plain.
type Palette bool

// Paint returns s painted with a code of ANSI.
func (c Palette) Paint(code, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold returns s in bold.
func (c Palette) Bold(s string) string { return c.Paint("1", s) }

// Dim returns s dimmed.
func (c Palette) Dim(s string) string { return c.Paint("2", s) }

// Red returns s in red.
func (c Palette) Red(s string) string { return c.Paint("31", s) }

// Green returns s in green.
func (c Palette) Green(s string) string { return c.Paint("32", s) }

// Yellow returns s in yellow.
func (c Palette) Yellow(s string) string { return c.Paint("33", s) }

// Cyan returns s in cyan.
func (c Palette) Cyan(s string) string { return c.Paint("36", s) }

// HarmlessLines is harmless for a text of several lines.
func HarmlessLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cli.Harmless(line)
	}
	return strings.Join(lines, "\n")
}
