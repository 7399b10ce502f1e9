package main

import (
	"github.com/spf13/cobra"

	"freshet"
	"freshet/spell"
)

func siteVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Show and mirror sites, and read sitemaps and robots.txt",
		Long: `A site is a source that stands for all of its pages; "freshet add --site URL" adds one.

list, show, pages and mirror are about sites that are watched. urls and robots read
what any site says to programs that go through its pages, without watching it.`,
		Example: "  freshet site show docs\n  freshet site pages docs --changed-since 24h\n  freshet site mirror docs --out docs-copy\n" +
			"  freshet site urls https://example.com/sitemap.xml\n  freshet site robots https://example.com/ /private/page",
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(siteListVerb(p), siteShowVerb(p), sitePagesVerb(p), siteMirrorVerb(p), siteURLsVerb(p), siteRobotsVerb(p))
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
