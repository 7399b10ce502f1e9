package main

import (
	"github.com/spf13/cobra"
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
	}
	return grouped(cmd, siteListVerb(p), siteShowVerb(p), sitePagesVerb(p), siteMirrorVerb(p), siteURLsVerb(p), siteRobotsVerb(p))
}
