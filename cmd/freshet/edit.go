package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func editVerb(p *program) *cobra.Command {
	var f sourceFlags
	var r requestFlags
	var recipe recipeFlags
	var whole siteFlags
	var url string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "edit SOURCE",
		Short: "Change the settings of a source",
		Long: `Change the settings of a source. Only the flags you give are changed. An empty
value resets a setting to its default, and --tag replaces all tags.

If you change the selector or the request, the next poll stores a new version but does not report
it as a change.`,
		Example: "  freshet edit news --name 'Front page' --weight 5\n" +
			"  freshet edit news --css '' --tag daily --tag press\n" +
			"  freshet edit news --min-gap 10m --max-gap 0\n" +
			"  freshet edit news --level '95% within 1h'",
		Args: takes(1, 1),
	}
	f.register(cmd.Flags(), "")
	r.register(cmd.Flags())
	recipe.register(cmd.Flags())
	whole.register(cmd.Flags())
	cmd.Flags().StringVar(&url, "url", "", "watch this URL instead")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		edit, err := f.edit()
		if err != nil {
			return err
		}
		request, expect, err := r.described()
		if err != nil {
			return err
		}
		if request != nil {
			edit["request"] = request
		}
		if expect != nil {
			edit["expect"] = expect
		}
		if cmd.Flags().Changed("url") {
			edit["url"] = url
		}
		site, err := whole.edit()
		if err != nil {
			return err
		}
		if len(edit) == 0 && !recipe.given() && site == nil {
			return noChanges("use a flag such as --name or --css; freshet edit --help lists them")
		}
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		if err := recipe.edit(edit, s, p.in); err != nil {
			return err
		}
		if site != nil {
			edit["site"] = site
		}
		if s, err = c.edit(ctx, s.ID, edit); err != nil {
			return fmt.Errorf("edit %s: %w", args[0], err)
		}
		warnOfFile(p, s)
		if asJSON {
			return p.printJSON(s)
		}
		return sayDone(p, "changed", s)
	}), 1)
}

// edit changes a source as it is now. If another client changes it meanwhile, the
// edit is made once more: it sets the same fields, whatever the others are.
func (c *connection) edit(ctx context.Context, id freshet.SourceID, patch client.Patch) (s client.Source, err error) {
	for range 2 {
		if s, err = c.Sources.Get(ctx, id); err != nil {
			return s, err
		}
		if s, err = c.Sources.Edit(ctx, id, patch, s.Revision); !errors.Is(err, freshet.ErrStale) {
			break
		}
	}
	return s, err
}

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
			s, err := c.edit(ctx, s.ID, client.Patch{"paused": paused})
			if err != nil {
				return err
			}
			warnOfFile(p, s)
			if asJSON {
				return p.printJSON(s)
			}
			return sayDone(p, done, s)
		})
		if tag != "" && !asJSON && n > 0 {
			fmt.Fprintf(p.out, "%s %s\n", done, counted(n, "source"))
		}
		return err
	})
}

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
			each = func(do func(client.Source) error) (int, error) { return 0, forEach(ctx, args, c.Sources.Find, do) }
		}
		n, err := each(func(s client.Source) error {
			if !dry {
				if err := c.Sources.Remove(ctx, s.ID, purge); err != nil {
					return err
				}
				warnOfFile(p, s)
			}
			if asJSON {
				return p.printLine(map[string]any{strings.ReplaceAll(done, " ", "_"): s.ID, "purged": purge && !dry})
			}
			return sayDone(p, done, s)
		})
		if tag != "" && !asJSON && n > 0 {
			fmt.Fprintf(p.out, "%s %s\n", done, counted(n, "source"))
		}
		return err
	}), -1)
}
