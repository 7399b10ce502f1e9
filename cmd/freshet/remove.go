package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
)

func removeVerb(p *program) *cobra.Command {
	var purge, dry, asJSON bool
	var tag string
	cmd := &cobra.Command{
		Use:   "remove {SOURCE... | --tag TAG}",
		Short: "Stop watching sources",
		Long: `Stop watching sources. Their history stays, and is taken up again if the same
URL is added with the same selectors, unless --purge is given: then all of it is
deleted for good. "freshet list --removed" lists the sources whose history is kept.
With --dry-run nothing is removed: the sources are only listed.`,
		Example: "  freshet remove news\n  freshet remove --purge https://example.com/\n  freshet remove --tag shop --dry-run",
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "delete all history too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list what would be removed")
	jsonFlag(cmd, &asJSON)
	tagFlag(cmd, &tag)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		done := "removed"
		if dry {
			done = "would remove"
		}
		each := func(do func(client.Source) error) (int, error) { return c.forEachOf(ctx, args, tag, do) }
		if purge && tag == "" { // also what was removed before
			each = func(do func(client.Source) error) (int, error) { return 0, forEach(ctx, args, c.find, do) }
		}
		n, err := each(func(s client.Source) error {
			if !dry {
				if err := c.Remove(ctx, s.ID, purge); err != nil {
					return err
				}
				warnOfFile(p, s)
			}
			if asJSON {
				return p.printLine(map[string]any{strings.ReplaceAll(done, " ", "_"): s.ID, "purged": purge && !dry})
			}
			_, err := fmt.Fprintln(p.out, done, label(s))
			return err
		})
		if tag != "" && !asJSON && n > 0 {
			fmt.Fprintf(p.out, "%s %s\n", done, counted(n, "source"))
		}
		return err
	}), -1)
}
