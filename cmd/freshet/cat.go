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
		Short: "Print a version of a source",
		Long: `Print the text of a version, as it was extracted and compared, or with --raw the
body of the response that it came from. Without VERSION the newest one.

To a terminal, characters that could steer it are replaced; to a file or a pipe
the bytes are as they were stored.`,
		Example: "  freshet cat news\n  freshet cat --raw news 3 > page.html",
		Args:    takes(1, 2),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the response body instead of the text")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		number := 0 // the newest
		if len(args) > 1 && args[1] != "latest" {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usagef("cat: %q is not the number of a version", args[1])
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
