package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func queryTestVerb(p *program) *cobra.Command {
	var f queryFlags
	var since string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test [QUERY] [--when CONDITION]",
		Short: "Try a query on the stored changes",
		Long: `Show what a query would have matched among the changes that are stored, and when. The
flags say what is looked for; with the name of a query, they change it for this trial
only.`,
		Example: "  freshet query test --when 'added.contains(\"security\")' --since 30d\n" +
			"  freshet query test cheap --when 'now.price < 15.0'\n  freshet query test --silent 2x --source news --json",
		Args: takes(0, 1),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&since, "since", "", "only changes seen at this `time` or later: a date, a time, or how long ago, such as 2d (default: all that is stored)")
	limitFlag(cmd, &limit, 20)
	jsonFlag(cmd, &asJSON)
	return completeQueries(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		t, err := f.trial(ctx, c, cmd, args)
		if err != nil {
			return err
		}
		if t.Since, t.Limit = since, limit; limit == 0 {
			t.Limit = 1000 // the most that a test returns
		}
		found, err := c.Queries.Test(ctx, t)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(found)
		}
		warn(p, found.Warnings)
		for _, m := range found.Items {
			printMatch(p, m)
		}
		_, err = fmt.Fprintf(p.out, "%s in %s\n", counted2(found.Found, "match", "matches"), counted(found.Scanned, "change"))
		if err == nil && found.Missing > 0 {
			p.remark("the condition could not be evaluated for %s: a value was missing, or of another type", counted(int(found.Missing), "change"))
		}
		return err
	}), 1)
}

// counted2 is counted for a word with a plural of its own.
func counted2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// trial returns the query to try: that of the flags, or one that is there with what they
// change.
func (f *queryFlags) trial(ctx context.Context, c *connection, cmd *cobra.Command, args []string) (t client.QueryTest, err error) {
	if len(args) == 0 {
		t.NewQuery, err = f.query(ctx, c)
		return t, err
	}
	q, err := c.Queries.Get(ctx, args[0])
	if err != nil {
		return t, err
	}
	patch, err := f.patch(ctx, c, cmd)
	if err != nil {
		return t, err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return t, err
	}
	t.NewQuery = q.NewQuery
	return t, json.Unmarshal(text, &t.NewQuery)
}

func queryMatchesVerb(p *program) *cobra.Command {
	var after string
	var limit int
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "matches QUERY",
		Short: "Show what a query has matched, and follow it",
		Long: `Show the latest matches of a query, oldest first. --follow keeps running and prints
each new match, until you press Ctrl-C.

With --json each match is one line of JSON. Its cursor is a position in the log of
matches: pass it to --after to continue from there.`,
		Example: "  freshet query matches cheap\n  freshet query matches cheap --follow --json",
		Args:    takes(1, 1),
	}
	limitFlag(cmd, &limit, 20)
	cmd.Flags().StringVar(&after, "after", "", "show everything after this cursor; 0 means from the beginning")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep running and print new matches")
	jsonFlag(cmd, &asJSON)
	return completeQueries(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if follow && c.local {
			return errNobodyPolls
		}
		m := matchLog{program: p, connection: c, query: args[0], json: asJSON}
		return unlessDone(ctx, m.run(ctx, after, limit, follow))
	}), 1)
}

// A matchLog prints the matches of a query.
type matchLog struct {
	*program
	*connection
	query string
	json  bool
}

func (l *matchLog) run(ctx context.Context, after string, limit int, follow bool) error {
	var end freshet.Place
	if after == "" && limit == 0 {
		after = "0"
	}
	if after == "" {
		page, err := l.Queries.Matches(ctx, l.query, client.MatchQuery{Newest: true, Limit: limit})
		if err != nil {
			return err
		}
		slices.Reverse(page.Items)
		end = page.Next
		if err := l.print(page.Items); err != nil {
			return err
		}
		if len(page.Items) == 0 && !follow && !l.json {
			l.remark("no matches to show")
		}
		if !follow {
			return nil
		}
	} else {
		place, err := freshet.ParsePlace(after)
		if err != nil {
			return usagef("query matches: --after: %q %v", after, err)
		}
		end = place
	}
	for {
		wait := time.Duration(0)
		if follow {
			wait = 30 * time.Second
		}
		page, err := l.Queries.Matches(ctx, l.query, client.MatchQuery{After: end, Limit: 1000, Wait: wait})
		if err != nil {
			return err
		}
		end = page.Next
		if err := l.print(page.Items); err != nil {
			return err
		}
		if !follow && len(page.Items) == 0 {
			return nil
		}
	}
}

func (l *matchLog) print(matches []client.Match) error {
	for _, m := range matches {
		if !l.json {
			printMatch(l.program, m)
			continue
		}
		if err := l.printLine(m); err != nil {
			return err
		}
	}
	return nil
}
