package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func catVerb(p *program) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "cat SOURCE [VERSION]",
		Short: "Print a stored version of a source",
		Long: `Print the text of a version: what Freshet extracted from the page and compares.
Without VERSION, print the newest one. With --raw, print the response body that
the server sent.

On a terminal, control characters are replaced. In a file or a pipe you get the
exact bytes.`,
		Example: "  freshet cat news\n  freshet cat --raw news 3 > page.html",
		Args:    takes(1, 2),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the response body instead of the text")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		number := 0 // the newest
		if len(args) > 1 && args[1] != "latest" {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usagef("cat: %q is not a version number; freshet history lists them", args[1])
			}
			number = n
		}
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		read := c.Text
		if raw {
			read = c.Raw
		}
		text, err := read(ctx, s.ID, number)
		if err != nil {
			return err
		}
		if isTerminal(p.out) {
			text = []byte(harmlessLines(string(text)))
		}
		_, err = p.out.Write(text)
		return err
	}), 1)
}
