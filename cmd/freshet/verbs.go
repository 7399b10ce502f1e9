package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
)

// label names a source for people.
func label(s client.Source) string {
	if s.Name != "" {
		return fmt.Sprintf("%s (%s)", s.ID, harmless(s.Name))
	}
	return fmt.Sprintf("%s (%s)", s.ID, s.URL)
}

// completed has the shell complete the ids of sources.
func completed(p *program, cmd *cobra.Command, most int) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := p.connect(cmd, false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer c.close()
		found, err := c.Sources(cmd.Context(), client.SourceQuery{Text: begun})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return each(found, func(s client.Source) string { return string(s.ID) + "\t" + s.URL }), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

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

// warnOfFile tells that an edit of a source of the file does not last.
func warnOfFile(p *program, s client.Source) {
	if s.Origin == freshet.FromFile {
		fmt.Fprintf(p.err, "note: %s is listed in the configuration file; the next reload or start sets it back to what the file says\n", s.ID)
	}
}

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
