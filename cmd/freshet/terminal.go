package main

import (
	"io"
	"strings"

	"freshet/internal/cli"
)

// isTerminal reports whether w is one.
func isTerminal(w io.Writer) bool { return cli.IsTerminal(w) }

// colours reports whether w is to be written to in colour.
func (p *program) colours(w io.Writer) bool {
	switch p.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return p.env("NO_COLOR") == "" && p.env("TERM") != "dumb" && isTerminal(w)
}

// A palette paints text, or leaves it plain.
type palette bool

func (c palette) paint(code, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (c palette) bold(s string) string   { return c.paint("1", s) }
func (c palette) dim(s string) string    { return c.paint("2", s) }
func (c palette) red(s string) string    { return c.paint("31", s) }
func (c palette) green(s string) string  { return c.paint("32", s) }
func (c palette) yellow(s string) string { return c.paint("33", s) }
func (c palette) cyan(s string) string   { return c.paint("36", s) }

// harmless returns s without the characters that could steer a terminal.
func harmless(s string) string { return cli.Harmless(s) }

// harmlessLines is harmless for a text of several lines.
func harmlessLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = harmless(line)
	}
	return strings.Join(lines, "\n")
}

// printJSON writes v as an indented document.
func (p *program) printJSON(v any) error { return cli.WriteJSON(p.out, v) }

// printLine writes v as JSON on one line.
func (p *program) printLine(v any) error { return cli.WriteJSONLine(p.out, v) }
