package main

import (
	"context"
	"errors"
	"fmt"

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
			edit.Request = &request
		}
		if expect != nil {
			edit.Expect = &expect
		}
		if cmd.Flags().Changed("url") {
			edit.URL = &url
		}
		site, err := whole.edit()
		if err != nil {
			return err
		}
		if edit == (client.SourceEdit{}) && !recipe.given() && site == nil {
			return freshet.WithHint(usagef("edit: no changes given"), "use a flag such as --name or --css; freshet edit --help lists them")
		}
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		if err := recipe.edit(&edit, s, p.in); err != nil {
			return err
		}
		edit.Site = site
		if s, err = c.edit(ctx, s.ID, edit); err != nil {
			return fmt.Errorf("edit %s: %w", args[0], err)
		}
		warnOfFile(p, s)
		if asJSON {
			return p.printJSON(s)
		}
		return p.sayDone("changed", s)
	}), 1)
}

// edit changes a source as it is now. If somebody else changes it meanwhile, the
// edit is made once more: it sets the same fields, whatever the others are.
func (c *connection) edit(ctx context.Context, id freshet.SourceID, e client.SourceEdit) (s client.Source, err error) {
	for range 2 {
		if s, err = c.Source(ctx, id); err != nil {
			return s, err
		}
		if s, err = c.EditIf(ctx, id, s.Revision, e); !errors.Is(err, freshet.ErrStale) {
			break
		}
	}
	return s, err
}
