package main

import (
	"github.com/spf13/cobra"

	"freshet"
	"freshet/spell"
)

func siteVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Look at what a whole site says of its pages",
		Long: `Read what a site says to programs that go through its pages, without watching
anything.`,
		Example: "  freshet site urls https://example.com/sitemap.xml\n  freshet site robots https://example.com/ /private/page",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.AddCommand(siteURLsVerb(p), siteRobotsVerb(p))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, c := range cmd.Commands() {
			known = append(known, c.Name())
		}
		wrong := usagef("site: unknown command %q", args[0])
		if n := spell.Nearest(args[0], known); n != "" {
			return freshet.WithHint(wrong, "did you mean freshet site "+n+"?")
		}
		return freshet.WithHint(wrong, "freshet site --help lists all commands")
	}
	return cmd
}
