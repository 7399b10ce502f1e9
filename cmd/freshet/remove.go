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
		Long: `Stop watching sources. Their history is kept, and continues if you add the same URL
with the same selector again. "freshet list --removed" lists removed sources that
still have history. --purge deletes the history too, for good.`,
		Example: "  freshet remove news\n  freshet remove --purge https://example.com/\n  freshet remove --tag shop --dry-run",
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also delete the history, for good")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list what would be removed; change nothing")
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
			return p.sayDone(done, s)
		})
		if tag != "" && !asJSON && n > 0 {
			fmt.Fprintf(p.out, "%s %s\n", done, counted(n, "source"))
		}
		return err
	}), -1)
}
