package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func queryVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Say once what you want to hear of, over many sources",
		Long: `A query is a condition that is held against every change from now on. What fits is a
match: it has a number, is kept, and can be read, followed and sent on.

Conditions are written in CEL. They can use added, removed and text; the named values
now.NAME and before.NAME; items.added, items.removed and items.updated; source.id,
.url, .name, .tags and .site; change.seq, .after and .before; noise and suspect. Functions
such as count("1h") and lowest(now.price, "30d") look back. docs/queries.md has examples.`,
		Example: "  freshet query test --when 'added.contains(\"security\")' --since 30d\n" +
			"  freshet query add cheap --tag shop --when 'now.price < before.price * 0.9' --value now.price\n" +
			"  freshet query matches cheap --follow",
	}
	return grouped(cmd, queryAddVerb(p), queryListVerb(p), queryShowVerb(p), queryEditVerb(p), queryRemoveVerb(p), queryTestVerb(p), queryMatchesVerb(p))
}

// completedQueries lets a shell complete the name of a query.
func completedQueries(p *program, cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := p.connect(cmd, 0)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer c.close()
		all, err := c.Queries(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, q := range all {
			if strings.HasPrefix(string(q.ID), begun) {
				names = append(names, string(q.ID)+"\t"+q.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func queryAddVerb(p *program) *cobra.Command {
	var f queryFlags
	var id, backfill string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME [--when CONDITION]",
		Short: "Add a query",
		Long: `Add a query. It begins with the first change after it was added, or with --backfill
earlier: then it goes through what is stored first.

Try it with "freshet query test" before.`,
		Example: "  freshet query add 'Security news' --tag news --when 'added.contains(\"security\")'\n" +
			"  freshet query add cheap --when 'now.price < 20.0' --value now.price --digest 'daily 08:00 Europe/Berlin'\n" +
			"  freshet query add recalls --when 'mentions(added, \"recall\")' --importance 5\n" +
			"  freshet query add quiet --source news --silent 2x --backfill 30d",
		Args: takes(1, 1),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&id, "id", "", "id of the query (default: made of its name)")
	cmd.Flags().StringVar(&backfill, "backfill", "", "begin with changes since then: a time such as 30d, a date, or 0 for all that is stored")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		q, err := f.query(ctx, c)
		if err != nil {
			return err
		}
		q.ID, q.Name = freshet.QueryID(id), args[0]
		added, err := c.AddQuery(ctx, client.QueryToAdd{NewQuery: q, Backfill: backfill})
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(added)
		}
		p.warn(added.Warnings)
		begins := "it begins now"
		if added.Behind || backfill != "" {
			begins = "it goes through what is stored first"
		}
		_, err = fmt.Fprintf(p.out, "added query %s; %s\n", added.ID, begins)
		if err == nil && c.local {
			p.remark("no daemon is running; the query is run when freshet serve is")
		}
		return err
	})
}

// warn prints what is allowed and probably not meant.
func (p *program) warn(warnings []string) {
	for _, w := range warnings {
		p.remark("note: %s", harmless(w))
	}
}

func queryListVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the queries", Example: "  freshet query list", Args: takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		all, err := c.Queries(ctx)
		if err != nil {
			return err
		}
		all = firstOf(all, limit)
		if asJSON {
			return p.printJSON(all)
		}
		if len(all) == 0 {
			p.remark("no queries; freshet query add NAME --when CONDITION adds one")
			return nil
		}
		t := table{head: []string{"QUERY", "MATCHES", "STATE", "SCOPE", "WHEN"}, short: map[string]int{"QUERY": 24, "SCOPE": 30}, drop: []string{"SCOPE", "STATE"}}
		for _, q := range all {
			t.add(plain(string(q.ID)), plain(fmt.Sprint(q.Matches)), plain(stateOfQuery(q)), plain(harmless(scopeText(q.Scope))), plain(harmless(cmp.Or(oneLine(q.When), "any change"))))
		}
		return t.write(p.out, p.screen())
	})
}

// oneLine returns a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// stateOfQuery returns what a query does, in a few words.
func stateOfQuery(q client.Query) string {
	switch {
	case q.Paused:
		return "paused"
	case q.Behind:
		return "catching up"
	case q.Waiting != nil:
		return fmt.Sprintf("%d waiting (%s)", q.Waiting.Count, q.Waiting.For)
	}
	return "running"
}

// scopeText returns which sources a query is about.
func scopeText(s *client.Scope) string {
	if s == nil {
		return "all sources"
	}
	var parts []string
	for _, id := range s.Sources {
		parts = append(parts, string(id))
	}
	for _, tag := range s.Tags {
		parts = append(parts, "tag "+tag)
	}
	for _, id := range s.Sites {
		parts = append(parts, "site "+string(id))
	}
	return cmp.Or(strings.Join(parts, ", "), "all sources")
}

func queryShowVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show QUERY", Short: "Show a query and its newest matches", Example: "  freshet query show cheap", Args: takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	return completedQueries(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		q, err := c.Query(ctx, freshet.QueryID(args[0]))
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(q)
		}
		if err := p.printQuery(q); err != nil {
			return err
		}
		page, err := c.Matches(ctx, q.ID, client.MatchQuery{Newest: true, Limit: 5})
		if err != nil {
			return err
		}
		for _, m := range page.Items {
			printMatch(p, m)
		}
		return nil
	}))
}

func queryEditVerb(p *program) *cobra.Command {
	var f queryFlags
	var name string
	var pause, resume, asJSON bool
	cmd := &cobra.Command{
		Use:   "edit QUERY",
		Short: "Change a query",
		Long: `Change what is named of a query; the rest stays. An empty value sets a part back. The
numbers of its matches go on. If what it looks for is changed, its windows begin anew.`,
		Example: "  freshet query edit cheap --when 'now.price < 15.0'\n  freshet query edit cheap --digest ''\n  freshet query edit cheap --pause",
		Args:    takes(1, 1),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name for people")
	cmd.Flags().BoolVar(&pause, "pause", false, "match nothing until it is resumed")
	cmd.Flags().BoolVar(&resume, "resume", false, "go on")
	cmd.MarkFlagsMutuallyExclusive("pause", "resume")
	jsonFlag(cmd, &asJSON)
	return completedQueries(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		patch, err := f.patch(ctx, c, cmd)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("name") {
			patch["name"] = name
		}
		if pause || resume {
			patch["paused"] = pause
		}
		if len(patch) == 0 {
			return freshet.WithHint(usagef("query edit: there is nothing to change"), "name what is to be other, such as --when CONDITION")
		}
		q, err := c.EditQuery(ctx, freshet.QueryID(args[0]), 0, patch)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(q)
		}
		p.warn(q.Warnings)
		return p.printQuery(q)
	}))
}

func queryRemoveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove QUERY...", Short: "Remove queries with their matches", Example: "  freshet query remove cheap", Args: takes(1, -1),
	}
	return completedQueries(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		for _, id := range args {
			if err := c.RemoveQuery(ctx, freshet.QueryID(id)); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(p.out, "removed query %s\n", id); err != nil {
				return err
			}
		}
		return nil
	}))
}
