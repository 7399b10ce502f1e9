package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func shareVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "share",
		Short: "Make links that show one source or query to others",
		Long: `Manage share links. Whoever has one can read one source, or one query with what it
matched, on the page, over the API and as a feed, and can change nothing.`,
	}, shareAddVerb(p), shareListVerb(p), shareRemoveVerb(p))
}

func shareAddVerb(p *program) *cobra.Command {
	var n client.NewShare
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add --source SOURCE | --query QUERY",
		Short:   "Make a share link and print it",
		Long:    "Make a share link. It is printed on standard output and is not shown again.",
		Example: "  freshet share add --source news --expires 30d\n  freshet share add --query cheap --name 'for Bo'",
		Args:    takes(0, 0),
	}
	cmd.Flags().StringVar((*string)(&n.Source), "source", "", "show this source")
	cmd.Flags().StringVar((*string)(&n.Query), "query", "", "show this query and what it matched")
	cmd.Flags().StringVar(&n.Name, "name", "", "who it is for")
	cmd.Flags().StringVar(&n.Expires, "expires", "", "when it ends: how long from now, such as 30d, or a time (default never)")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		if (n.Source == "") == (n.Query == "") {
			return usagef("share add: name what to show with --source or --query")
		}
		if n.Source != "" {
			s, err := c.find(ctx, string(n.Source))
			if err != nil {
				return err
			}
			n.Source = s.ID
		}
		made, err := c.AddShare(ctx, n)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(made)
		}
		p.remark("link %s; this is the only time that it is shown. Feed: %s", made.ID, made.Feed)
		_, err = fmt.Fprintln(p.out, cmp.Or(made.URL, made.Path))
		return err
	})
}

func shareListVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the share links, without their secrets", Example: "  freshet share list", Args: takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		list, err := c.Shares(ctx)
		if err != nil {
			return err
		}
		list.Items = firstOf(list.Items, limit)
		if asJSON {
			return p.printJSON(list.Items)
		}
		if len(list.Items) == 0 {
			p.remark("there are no share links; freshet share add --source SOURCE makes one")
			return nil
		}
		t := table{head: []string{"ID", "SHOWS", "BY", "EXPIRES", "LAST USED", "NAME"}, drop: []string{"BY", "LAST USED"}}
		for _, s := range list.Items {
			t.add(plain(s.ID), plain(shows(s.Source, s.Query)), plain(orDash(s.User)), plain(dateOf(s.Expires)), plain(dateOf(s.Used)), plain(harmless(s.Name)))
		}
		return t.write(p.out, p.screen())
	})
}

func shows(source freshet.SourceID, query freshet.QueryID) string {
	if source != "" {
		return "source " + string(source)
	}
	return "query " + string(query)
}

func shareRemoveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove ID...", Aliases: []string{"rm"}, Short: "Make share links invalid", Example: "  freshet share remove k3f9q2xw7abc", Args: takes(1, -1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return removeEach(p, args, "link", func(id string) error { return c.RemoveShare(ctx, id) })
	})
}
