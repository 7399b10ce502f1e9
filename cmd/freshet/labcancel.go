package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
)

func labRunsVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs of the daemon's lab",
		Long:    "List the last runs that were started on the page, over the API or with freshet lab run, the\nnewest first. They are kept until the daemon ends.",
		Example: "  freshet lab runs\n  freshet lab runs --limit 5 --json",
		Args:    takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit, 0)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		runs, err := c.LabRuns.List(ctx)
		if err != nil {
			return err
		}
		runs = firstOf(runs, limit)
		if asJSON {
			return p.printJSON(client.LabRunList{Items: runs})
		}
		t := display.Table{Head: []string{"ID", "STATE", "ASKED", "POLICIES"}}
		for _, r := range runs {
			state := string(r.State)
			if !r.State.Over() {
				state = fmt.Sprintf("%s %.0f%%", state, 100*r.Progress)
			}
			t.Add(display.Plain(r.ID), display.Plain(state), display.Plain(r.AskedAt.Format(time.RFC3339)), display.Plain(harmless(strings.Join(r.Request.Policies, ","))))
		}
		return t.Write(p.out, p.screen())
	})
}

func labCancelVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Cancel a run of the daemon's lab",
		Long:    "Cancel a run of the daemon's lab. A run that is over is forgotten. freshet lab runs lists\nthem.",
		Example: "  freshet lab cancel 3",
		Args:    takes(1, 1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return c.LabRuns.Remove(ctx, args[0])
	})
}
