package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// help prints what a command does, how it is called, and its flags, fitted to the
// screen.
func (p *program) help(cmd *cobra.Command, _ []string) {
	width := helpWidth(p.columnsOf(p.out))
	wrapped := fmt.Sprintf("FlagUsagesWrapped %d", width)
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), "Flags.FlagUsages", "Flags."+wrapped))
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	fmt.Fprintf(p.out, "%s\n\n%s", paragraphs(strings.TrimSpace(about), width), cmd.UsageString())
}

// paragraphs breaks a text into lines of at most so many columns. Tables, which have
// lines that begin with a blank, stay as they are.
func paragraphs(text string, most int) string {
	all := strings.Split(text, "\n\n")
	for i, p := range all {
		if !strings.Contains(p, "\n ") && !strings.HasPrefix(p, " ") {
			all[i] = strings.Join(wrap(strings.ReplaceAll(p, "\n", " "), most, ""), "\n")
		}
	}
	return strings.Join(all, "\n\n")
}

// helpWidth returns how many columns help takes on a screen. Long lines are hard to
// read, also where there is room for them.
func helpWidth(screen int) int {
	const usual, most = 80, 100
	if screen == 0 {
		return usual
	}
	return min(screen, most)
}
