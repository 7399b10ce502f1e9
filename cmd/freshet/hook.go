package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func hookVerb(p *program) *cobra.Command {
	var rotate, remove, asJSON bool
	cmd := &cobra.Command{
		Use:   "hook SOURCE",
		Short: "Show the URL that triggers a poll of a source",
		Long: `Show the hook of a source, and create it if there is none. A POST request to it has
the source polled as soon as the budget and its host allow. The body of the request
is ignored. Calls within 5 seconds of each other count as one.

Keep the URL secret: anyone who has it can cause polls. --rotate replaces it.`,
		Example: "  freshet poll hook news\n  freshet poll hook news --rotate\n  curl -X POST $(freshet poll hook news)",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the hook; the old one becomes invalid")
	cmd.Flags().BoolVar(&remove, "remove", false, "delete the hook")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		if remove {
			if err := c.Sources.RemoveHook(ctx, s.ID); err != nil {
				return err
			}
			return sayDone(p, "removed the hook of", s)
		}
		h, err := c.Sources.Hook(ctx, s.ID, rotate)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(h)
		}
		_, err = fmt.Fprintln(p.out, cmp.Or(h.URL, c.base+h.Path))
		return err
	}), 1)
}
