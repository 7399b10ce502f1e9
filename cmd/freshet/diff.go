package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func diffVerb(p *program) *cobra.Command {
	var asJSON, sides bool
	cmd := &cobra.Command{
		Use:   "diff SOURCE [FROM] [TO]",
		Short: "Show how two versions of a source differ",
		Long: `Show how two versions of a source differ, line by line: the newest and the one
before it, or FROM and the newest, or FROM and TO. Versions are numbers as history
lists them.

In a terminal the words that differ stand out in colour, and of a long line only
the sentences that changed are shown. A pipe gets a plain unified diff.`,
		Example: "  freshet diff news\n  freshet diff news 3 7\n  freshet diff --side-by-side news\n  freshet diff --json news",
		Args:    takes(1, 3),
	}
	cmd.Flags().BoolVar(&sides, "side-by-side", false, "show the old text on the left and the new one on the right")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		var between [2]int // zero means that the API chooses
		for i, arg := range args[1:] {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 {
				return usagef("diff: %q is not the number of a version", arg)
			}
			between[i] = n
		}
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		d, err := c.Diff(ctx, s.ID, between[0], between[1])
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			return p.printJSON(d)
		case sides:
			newDiffView(p).sides(d)
		default:
			newDiffView(p).unified(d)
		}
		return nil
	}), 1)
}
