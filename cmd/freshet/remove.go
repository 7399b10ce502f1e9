package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/client"
)

func removeVerb(p *program) *cobra.Command {
	var purge, asJSON bool
	cmd := &cobra.Command{
		Use:   "remove SOURCE...",
		Short: "Stop watching sources",
		Long: `Stop watching sources. Their history stays, and is taken up again if the same
URL is added with the same selectors, unless --purge is given: then all of it is
deleted for good.`,
		Example: "  freshet remove news\n  freshet remove --purge https://example.com/",
		Args:    takes(1, -1),
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "delete all history too")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return c.forEach(ctx, args, func(s client.Source) error {
			if err := c.Remove(ctx, s.ID, purge); err != nil {
				return err
			}
			warnOfFile(p, s)
			if asJSON {
				return p.printLine(map[string]any{"removed": s.ID, "purged": purge})
			}
			_, err := fmt.Fprintln(p.out, "removed", label(s))
			return err
		})
	}), -1)
}
