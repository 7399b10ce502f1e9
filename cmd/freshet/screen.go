package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// A screen is what output is fitted to: its colours, and how many columns it
// has. Output that goes into a file or a pipe has neither colour nor an end on
// the right.
type screen struct {
	palette
	width int // in columns; zero means no limit
}

// noWidth is the value of --width that leaves the width to the terminal.
const noWidth = -1

// screen returns what is known of where the output goes.
func (p *program) screen() screen {
	return screen{palette(p.colours(p.out)), p.columnsOf(p.out)}
}

// columnsOf returns how many columns a writer has; zero means no limit.
func (p *program) columnsOf(w io.Writer) int {
	if p.width != noWidth {
		return p.width
	}
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(n, leastWidth)
}

// leastWidth is the narrowest screen that output is fitted to.
const leastWidth = 40

// columns returns how many columns a text takes on the screen. The codes that
// paint it take none.
func columns(s string) (n int) {
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

// pad fills a text with blanks up to a width.
func pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-columns(s)))
}

// shorten cuts the middle out of a text that takes more than so many columns.
// What makes an id or a URL differ from others is at its ends.
func shorten(s string, most int) string {
	if columns(s) <= most {
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
	for rest := most - 1 - columns(string(r[tail:])); head < tail && columnsOfRune(r[head]) <= rest; head++ {
		rest -= columnsOfRune(r[head])
	}
	return strings.TrimSpace(string(r[:head])) + "…" + strings.TrimSpace(string(r[tail:]))
}

// prose breaks a text between words so that it fits the screen. Lines after the
// first begin with the indent.
func (s screen) prose(text, indent string) string {
	return strings.Join(wrap(text, s.width, indent), "\n")
}

// message is prose in which no word is shortened, since it may be a command to
// copy.
func (s screen) message(text string) string {
	if s.width == 0 {
		return text
	}
	const indent = "  "
	most := s.width
	for word := range strings.FieldsSeq(text) {
		most = max(most, columns(word)+columns(indent))
	}
	return strings.Join(wrap(text, most, indent), "\n")
}

// wrap breaks a text between words into lines of at most so many columns; zero
// means no limit. A word that is longer than a line is shortened.
func wrap(text string, most int, indent string) []string {
	if most <= 0 || columns(text) <= most {
		return []string{text}
	}
	begin := text[:len(text)-len(strings.TrimLeft(text, " "))] // blanks at the start are wanted
	line, empty := begin, true
	var lines []string
	for _, word := range strings.Fields(text) {
		if !empty && columns(line)+1+columns(word) > most {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if empty {
			line += shorten(word, max(1, most-columns(line)))
		} else {
			line += " " + word
		}
		empty = false
	}
	return append(lines, line)
}

// shortenEnd cuts the end off a text that takes more than so many columns, after
// a word if it can.
func shortenEnd(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	line := wrap(s, max(1, most-2), "")[0]
	return line + " …"
}
