package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestGoldenHelp compares the help of every command with testdata/golden/help, at two
// widths. Help has no colour, and a pipe gets it as a screen of 80 columns does.
func TestGoldenHelp(t *testing.T) {
	for _, cmd := range commandsOf((&program{env: func(string) string { return "" }}).root()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		t.Run(name, func(t *testing.T) {
			seen := map[int]string{}
			for _, l := range looks {
				args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
				out, code := printed(t, nil, append(l.args(), args...))
				if code != 0 {
					t.Fatalf("%s: exit code %d", l.name, code)
				}
				width := helpWidth(l.width)
				l.width = width
				fits(t, l, out)
				if seen[width] == "" {
					seen[width] = out
				} else if out != seen[width] {
					t.Errorf("%s: help differs from that of the same width", l.name)
				}
			}
			isGolden(t, filepath.Join("testdata", "golden", "help", name+".txt"),
				fmt.Sprintf("-- 80 columns --\n%s\n-- 140 columns --\n%s", seen[80], seen[helpWidth(140)]))
		})
	}
}

// commandsOf returns a command and all below it that help lists, but for those that
// cobra makes.
func commandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range listed(cmd) {
		all = append(all, commandsOf(c)...)
	}
	return all
}
