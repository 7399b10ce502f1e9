package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"freshet/internal/cli"
	"freshet/internal/cli/display"
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

// harmless returns s without the characters that could steer a terminal.
func harmless(s string) string { return cli.Harmless(s) }

// printJSON writes v as an indented document.
func (p *program) printJSON(v any) error { return cli.WriteJSON(p.out, v) }

// printLine writes v as JSON on one line.
func (p *program) printLine(v any) error { return cli.WriteJSONLine(p.out, v) }

// noWidth is the value of --width that leaves the width to the terminal.
const noWidth = -1

// screen returns what is known of where the output goes.
func (p *program) screen() display.Screen {
	return display.Screen{Palette: display.Palette(p.colours(p.out)), Width: p.columnsOf(p.out)}
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
	return max(n, display.LeastWidth)
}

// newDiffView returns a view on the output of a program.
func newDiffView(p *program) *display.DiffView {
	return &display.DiffView{Screen: p.screen(), Out: p.out}
}
