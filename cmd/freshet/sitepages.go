package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func sitePagesVerb(p *program) *cobra.Command {
	var asJSON bool
	var state, since string
	var limit int
	cmd := &cobra.Command{
		Use:   "pages SITE",
		Short: "List the pages of a site",
		Long: `List the pages of a site with their state:

  waiting  known, and never fetched
  watched  fetched, or about to be
  gone     not there any more
  refused  not wanted by robots.txt, by the page itself, or by you
  covered  the same as another page or source

With --json each page is one line.`,
		Example: "  freshet site pages docs --changed-since 24h\n  freshet site pages docs --state gone --json",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&state, "state", "", "only pages in this state")
	cmd.Flags().StringVar(&since, "changed-since", "", "only pages that changed since then: a time such as 24h or 7d, or a date")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many; 0 means all")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		found, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		q := client.SitePageQuery{State: freshet.PageState(state), Limit: limit}
		if since != "" {
			if q.ChangedSince, err = freshet.ParseTime(since, p.now(), time.Local); err != nil {
				return usagef("--changed-since: %v", err)
			}
		}
		if asJSON {
			return c.SitePages(ctx, found.ID, q, func(page client.SitePage) error { return p.printLine(page) })
		}
		now := p.now()
		t := table{head: []string{"STATE", "FOUND BY", "SEEN", "CHANGED", "VERSION", "URL"}, drop: []string{"FOUND BY", "VERSION"}}
		err = c.SitePages(ctx, found.ID, q, func(page client.SitePage) error {
			t.add(plain(string(page.State)), plain(string(page.Found)), plain(ago(page.Seen, now)), plain(ago(page.Changed, now)), plain(cmp.Or(fmt.Sprint(page.Version), "-")), plain(page.URL))
			return nil
		})
		if err != nil || len(t.rows) == 0 {
			return err
		}
		return t.write(p.out, p.screen())
	}), 1)
}
