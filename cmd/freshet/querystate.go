package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

const queryStateHelp = `Query the states of sources: what they said last, or at a time.

  VALUE, ...              what is wanted: price * 2, source.name, state.at
  min(price) by shop      min, max, sum, avg, count, first or last of groups
  from tag:shop, kettles  ids, names, tag:NAME, site:ID, query:ID or all
  from items of tag:shop  each item of a list or feed is a row
  where price < 100       a condition in CEL
  join news where ...     look at another source: news.text, news.headline
  join tag:b as b on sku  rows of other sources with the same value
  sort price desc         the order of the rows

The parts can be in any order, and all of them can be left out. Values that the source
extracts are named as they are, and source, state, now, text, title and items are there
too. docs/reference/queries.md has the whole language.`

func queryStateVerb(p *program) *cobra.Command {
	var q client.StateQuery
	var asOf string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "state QUERY",
		Short: "Query the states of sources, now or at a time",
		Long:  queryStateHelp,
		Example: "  freshet query state 'min(price) by shop'\n" +
			"  freshet query state 'shop, price from tag:shop sort price' --as-of '2026-05-01 12:00' --limit 1\n" +
			"  freshet query state 'where status == \"down\" && news.text.contains(\"outage\") join news'",
		Args: takes(1, -1),
	}
	flags := cmd.Flags()
	flags.StringVar(&asOf, "as-of", "", "the states at this `time`: a date, a time, or how long ago, such as 2d (default now)")
	flags.IntVarP(&q.Limit, "limit", "n", 100, "show at most this many rows")
	flags.IntVar(&q.Offset, "offset", 0, "leave out this many rows")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) (err error) {
		if q.Limit < 1 || q.Offset < 0 {
			return usagef("query state: --limit must be at least 1, and --offset at least 0")
		}
		if q.AsOf, err = p.moment("as-of", asOf); err != nil {
			return err
		}
		q.Query = strings.Join(args, " ")
		found, err := c.States(ctx, q)
		if err != nil {
			p.pointAt(q.Query, err)
			return err
		}
		if asJSON {
			return p.printJSON(found)
		}
		return printStates(p, found, q)
	})
}

// pointAt shows where the mistake is that an error is about.
func (p *program) pointAt(text string, err error) {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || len(problem.Errors) == 0 {
		return
	}
	place, ok := problem.Errors[0].Value.(map[string]any)
	if !ok {
		return
	}
	line, _ := place["line"].(float64)
	column, _ := place["column"].(float64)
	lines := strings.Split(text, "\n")
	if line < 1 || int(line) > len(lines) || column < 1 {
		return
	}
	shown := strings.ReplaceAll(lines[int(line)-1], "\t", " ")
	before := []rune(shown)
	before = before[:min(len(before), int(column)-1)]
	fmt.Fprintf(p.err, "  %s\n  %s^\n", harmless(shown), strings.Repeat(" ", display.Columns(harmless(string(before)))))
}

// printStates prints the answer to a query about states.
func printStates(p *program, found client.StateTable, q client.StateQuery) error {
	t := display.Table{}
	groups := len(found.Items) == 0 || found.Items[0].Source == ""
	if !groups {
		t.Head = []string{"SOURCE"}
		t.Short = map[string]int{"SOURCE": 30}
	}
	for _, c := range found.Columns {
		t.Head = append(t.Head, strings.ToUpper(harmless(c)))
	}
	for _, r := range found.Items {
		var cells []display.Cell
		if !groups {
			cells = append(cells, display.Plain(harmless(cmp.Or(r.Name, string(r.Source)))))
		}
		for _, v := range r.Values {
			cells = append(cells, display.Plain(stateValue(v)))
		}
		t.Add(cells...)
	}
	if len(found.Items) > 0 {
		if err := t.Write(p.out, p.screen()); err != nil {
			return err
		}
	}
	switch {
	case found.Total == 0:
		p.remark("no rows; %s looked at", counted2(found.Sources, "source was", "sources were"))
	case len(found.Items) == 0:
		p.remark("there are %d rows, and none after the first %d", found.Total, q.Offset)
	case found.Next != nil:
		p.remark("%d of %d rows; --offset %d shows the next", len(found.Items), found.Total, *found.Next)
	}
	if found.Without > 0 {
		p.remark("%s no version from %s or before", counted2(found.Without, "source has", "sources have"), found.AsOf.Local().Format(time.DateTime))
	}
	if found.Missing > 0 {
		p.remark("the condition could not be evaluated for %s: a value was missing, or of another type", counted(found.Missing, "row"))
	}
	if found.Unread > 0 {
		p.remark("the items of %s could not be read: the source is read in another way now, or the page is not stored any more", counted2(found.Unread, "version", "versions"))
	}
	return nil
}

// stateValue returns a value in one line.
func stateValue(v any) string {
	if v == nil {
		return "-"
	}
	if _, ok := v.(map[string]any); ok {
		return harmless(oneLine(partText(v)))
	}
	return harmless(oneLine(freshet.ShowValue(v)))
}
