package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/client"
)

func pauseVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pause {SOURCE... | --tag TAG}",
		Short:   "Stop polling sources for now",
		Long:    "Stop polling sources until you resume them. Their settings and history are kept.",
		Example: "  freshet pause news\n  freshet pause https://example.com/\n  freshet pause --tag shop",
	}
	return completed(p, setPaused(p, cmd, true, "paused"), -1)
}

func resumeVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume {SOURCE... | --tag TAG}",
		Short:   "Poll paused sources again",
		Long:    "Poll paused sources again.",
		Example: "  freshet resume news\n  freshet resume --tag shop",
	}
	return completed(p, setPaused(p, cmd, false, "resumed"), -1)
}

func setPaused(p *program, cmd *cobra.Command, paused bool, done string) *cobra.Command {
	var asJSON bool
	var tag string
	jsonFlag(cmd, &asJSON)
	tagFlag(cmd, &tag)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		n, err := c.forEachOf(ctx, args, tag, func(s client.Source) error {
			s, err := c.edit(ctx, s.ID, client.SourceEdit{Paused: &paused})
			if err != nil {
				return err
			}
			warnOfFile(p, s)
			if asJSON {
				return p.printJSON(s)
			}
			return p.sayDone(done, s)
		})
		if tag != "" && !asJSON && n > 0 {
			fmt.Fprintf(p.out, "%s %s\n", done, counted(n, "source"))
		}
		return err
	})
}
