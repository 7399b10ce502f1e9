package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/client"
)

func pauseVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pause SOURCE...",
		Short:   "Stop polling sources, for now",
		Long:    "Stop polling sources until they are resumed. They stay known, with their history.",
		Example: "  freshet pause news\n  freshet pause https://example.com/",
		Args:    takes(1, -1),
	}
	return completed(p, setPaused(p, cmd, true, "paused"), -1)
}

func resumeVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume SOURCE...",
		Short:   "Go on polling paused sources",
		Long:    "Go on polling sources that were paused.",
		Example: "  freshet resume news",
		Args:    takes(1, -1),
	}
	return completed(p, setPaused(p, cmd, false, "resumed"), -1)
}

func setPaused(p *program, cmd *cobra.Command, paused bool, done string) *cobra.Command {
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return c.forEach(ctx, args, func(s client.Source) error {
			s, err := c.edit(ctx, s.ID, client.SourceEdit{Paused: &paused})
			if err != nil {
				return err
			}
			warnOfFile(p, s)
			if asJSON {
				return p.printJSON(s)
			}
			_, err = fmt.Fprintln(p.out, done, label(s))
			return err
		})
	})
}
