package main

import (
	"fmt"
	"strings"

	"freshet/client"
)

// printChange prints the head of a change.
func printChange(p *program, c client.Change) {
	paint := palette(p.colours(p.out))
	name := c.URL
	if c.Name != "" {
		name = c.Name + " " + c.URL
	}
	when := clock(c.Before)
	if !c.After.IsZero() {
		when += fmt.Sprintf(" (up to %s before)", roughDuration(c.Before.Sub(c.After)))
	}
	fmt.Fprintf(p.out, "%s %s\n  %s\n", paint.bold(harmless(name)), paint.dim(when), harmless(c.Summary))
}

// printDiff prints a unified diff without its names.
func printDiff(p *program, unified string) {
	if _, rest, ok := strings.Cut(unified, "\n@@"); ok {
		unified = "@@" + rest
	}
	printUnified(p, unified)
}

// printUnified prints a unified diff, in colour if there is any.
func printUnified(p *program, unified string) {
	paint := palette(p.colours(p.out))
	named := true // the lines before the first hunk are names, whatever else begins like them
	for line := range strings.Lines(unified) {
		line = harmless(strings.TrimSuffix(line, "\n"))
		named = named && !strings.HasPrefix(line, "@@")
		if named {
			line = paint.bold(line)
		} else {
			line = paint.diff(line)
		}
		fmt.Fprintln(p.out, line)
	}
}
