package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func diffVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff SOURCE [FROM] [TO]",
		Short: "Show how two versions of a source differ",
		Long: `Show how two versions of a source differ, line by line: the newest and the one
before it, or FROM and the newest, or FROM and TO. Versions are numbers as history
lists them.`,
		Example: "  freshet diff news\n  freshet diff news 3 7\n  freshet diff --json news",
		Args:    takes(1, 3),
	}
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
		if asJSON {
			d, err := c.Diff(ctx, s.ID, between[0], between[1])
			if err != nil {
				return err
			}
			return p.printJSON(d)
		}
		text, err := c.UnifiedDiff(ctx, s.ID, between[0], between[1])
		if err != nil {
			return err
		}
		printUnified(p, text)
		return nil
	}), 1)
}
