package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func queryVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Define conditions on changes, and read their matches",
		Long: `A query is a condition that is checked against every new change. A change that meets it
is a match. Matches are numbered and stored, and can be read, followed and sent to sinks.

Conditions are written in CEL. They can use added, removed and text; the named values
now.NAME and before.NAME; items.added, items.removed and items.updated; source.id,
.url, .name, .tags and .site; change.seq, .after and .before; noise and suspect. Functions
such as count("1h") and lowest(now.price, "30d") look back. docs/reference/queries.md has examples.`,
		Example: "  freshet query test --when 'added.contains(\"security\")' --since 30d\n" +
			"  freshet query add cheap --tag shop --when 'now.price < before.price * 0.9' --value now.price\n" +
			"  freshet query matches cheap --follow",
	}
	return grouped(cmd, queryAddVerb(p), queryListVerb(p), queryShowVerb(p), queryEditVerb(p), queryRemoveVerb(p), queryTestVerb(p), queryMatchesVerb(p), queryStateVerb(p))
}

func queryResource() resource[client.Query, *connection] {
	return resource[client.Query, *connection]{
		noun:    "query",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.Query, error) { return c.Queries.List(ctx) },
		none:    "there are no queries; freshet query add NAME --when CONDITION adds one",
		table:   display.Table{Head: []string{"QUERY", "MATCHES", "STATE", "SCOPE", "WHEN"}, Short: map[string]int{"QUERY": 24, "SCOPE": 30}, Drop: []string{"SCOPE", "STATE"}},
		row: func(q client.Query) []string {
			return []string{q.ID, fmt.Sprint(q.Matches), stateOfQuery(q), scopeText(q.Scope), cmp.Or(oneLine(q.When), "any change")}
		},
		remove: func(ctx context.Context, c *connection, id string) error {
			return c.Queries.Remove(ctx, id)
		},
	}
}

// completeQueries has the shell complete the ids of queries.
func completeQueries(p *program, cmd *cobra.Command, most int) *cobra.Command {
	return completeNames(p, cmd, most, func(ctx context.Context, c *connection, begun string) ([]string, error) {
		all, err := c.Queries.List(ctx)
		return withPrefix(each(all, func(q client.Query) string { return q.ID + "\t" + q.Name }), begun), err
	})
}

func queryAddVerb(p *program) *cobra.Command {
	var f queryFlags
	var id, backfill string
	cmd := &cobra.Command{
		Use:   "add NAME [--when CONDITION]",
		Short: "Add a query",
		Long: `Add a query. It checks changes from now on; with --backfill it checks stored changes
first.

"freshet query test" tries a query without adding it.`,
		Example: "  freshet query add 'Security news' --tag news --when 'added.contains(\"security\")'\n" +
			"  freshet query add cheap --when 'now.price < 20.0' --value now.price --digest 'daily 08:00 Europe/Berlin'\n" +
			"  freshet query add recalls --when 'mentions(added, \"recall\")' --importance 5\n" +
			"  freshet query add quiet --source news --silent 2x --backfill 30d",
		Args: takes(1, 1),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&id, "id", "", "id of the query (default: made of its name)")
	cmd.Flags().StringVar(&backfill, "backfill", "", "begin with changes since then: a time such as 30d, a date, or 0 for all that is stored")
	return resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (added client.Query, err error) {
		q, err := f.query(ctx, c)
		if err != nil {
			return added, err
		}
		q.ID, q.Name = id, args[0]
		return c.Queries.Add(ctx, client.QueryToAdd{NewQuery: q, Backfill: backfill})
	}, func(c *connection, added client.Query) error {
		warn(p, added.Warnings)
		begins := "it begins now"
		if added.Behind || backfill != "" {
			begins = "it goes through what is stored first"
		}
		_, err := fmt.Fprintf(p.out, "added query %s; %s\n", added.ID, begins)
		if err == nil && c.local {
			p.remark("no daemon is running; the query is run when freshet serve is")
		}
		return err
	})
}

// warn prints what is allowed and probably not meant.
func warn(p *program, warnings []string) {
	for _, w := range warnings {
		p.remark("note: %s", harmless(w))
	}
}

func queryListVerb(p *program) *cobra.Command {
	return queryResource().listVerb(p, &cobra.Command{Short: "List the queries", Example: "  freshet query list"})
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
	cmd := &cobra.Command{
		Use: "show QUERY", Short: "Show a query and its newest matches", Example: "  freshet query show cheap", Args: takes(1, 1),
	}
	return completeQueries(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (client.Query, error) {
		return c.Queries.Get(ctx, args[0])
	}, func(c *connection, q client.Query) error {
		if err := printQuery(p, q); err != nil {
			return err
		}
		page, err := c.Queries.Matches(cmd.Context(), q.ID, client.MatchQuery{Newest: true, Limit: 5})
		if err != nil {
			return err
		}
		for _, m := range page.Items {
			printMatch(p, m)
		}
		return nil
	}), 1)
}

func queryEditVerb(p *program) *cobra.Command {
	var f queryFlags
	var name string
	var pause, resume bool
	cmd := &cobra.Command{
		Use:   "edit QUERY",
		Short: "Change a query",
		Long: `Change a query. Only the flags you give are changed, and an empty value resets one. Its
matches stay, and their numbers continue. A new condition resets its time windows.`,
		Example: "  freshet query edit cheap --when 'now.price < 15.0'\n  freshet query edit cheap --digest ''\n  freshet query edit cheap --pause",
		Args:    takes(1, 1),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name for people")
	cmd.Flags().BoolVar(&pause, "pause", false, "stop matching until the query is resumed")
	cmd.Flags().BoolVar(&resume, "resume", false, "go on")
	cmd.MarkFlagsMutuallyExclusive("pause", "resume")
	return completeQueries(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (q client.Query, err error) {
		patch, err := f.patch(ctx, c, cmd)
		if err != nil {
			return q, err
		}
		if cmd.Flags().Changed("name") {
			patch["name"] = name
		}
		if pause || resume {
			patch["paused"] = pause
		}
		if len(patch) == 0 {
			return q, noChanges("use a flag such as --when CONDITION; freshet query edit --help lists them")
		}
		return c.Queries.Edit(ctx, args[0], patch, 0)
	}, func(_ *connection, q client.Query) error {
		warn(p, q.Warnings)
		return printQuery(p, q)
	}), 1)
}

func queryRemoveVerb(p *program) *cobra.Command {
	return completeQueries(p, queryResource().removeVerb(p, &cobra.Command{
		Use: "remove QUERY...", Short: "Remove queries with their matches", Example: "  freshet query remove cheap",
	}), -1)
}

// queryFlags say what a query is.
type queryFlags struct {
	when, trigger, value, by, over, hold, lasting, silent, digest, quiet, rate, repeat, importance string

	sources, tags, sites []string
}

func (f *queryFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.when, "when", "", "condition in CEL, such as 'added.contains(\"security\")'")
	flags.StringVar(&f.trigger, "trigger", "", triggerHelp)
	flags.StringVar(&f.value, "value", "", "what a match carries, in CEL, such as now.price")
	flags.StringVar(&f.importance, "importance", "", "weight of a matching change when polls are scheduled (default 1)")
	flags.StringArrayVar(&f.sources, "source", nil, "only changes of this source; may be repeated")
	flags.StringArrayVar(&f.tags, "tag", nil, "only changes of sources with this tag; may be repeated")
	flags.StringArrayVar(&f.sites, "site", nil, "only changes of this site and its pages; may be repeated")
	flags.StringVar(&f.by, "by", "", "group for counting: source, all, or CEL such as source.site")
	flags.StringVar(&f.over, "over", "", "default time window of functions, such as 1h")
	flags.StringVar(&f.hold, "for", "", "the condition must hold for this long, such as 10m")
	flags.StringVar(&f.lasting, "lasting", "", "the change must not be taken back for this long, such as 10m")
	flags.StringVar(&f.silent, "silent", "", "match when no change has met the condition for this long: 3d, or 2x the usual gap")
	flags.StringVar(&f.digest, "digest", "", "send matches together, such as hourly or 'daily 08:00 Europe/Berlin'")
	flags.StringVar(&f.quiet, "quiet", "", "send nothing during these hours, such as '22:00-07:00 Europe/Berlin'")
	flags.StringVar(&f.rate, "rate", "", "send at most this many matches, such as 10/h; the rest follows in one digest")
	flags.StringVar(&f.repeat, "repeat", "", repeatHelp)
}

const (
	triggerHelp = "match when the condition becomes true (becomes), likewise and at the first look (first), at each change for which it is true (each), or at each poll (poll)"
	repeatHelp  = "send matches again after this long, such as 30m, until somebody acknowledges them"
)

// query returns what the flags say.
func (f *queryFlags) query(ctx context.Context, c *connection) (q client.NewQuery, err error) {
	scope, err := f.scope(ctx, c)
	if err != nil {
		return q, err
	}
	q = client.NewQuery{Scope: scope, When: f.when, Trigger: f.trigger, Value: f.value, Rate: f.rate, Repeat: f.repeat}
	if q.Importance, err = f.weight(); err != nil {
		return q, err
	}
	if window := f.window(); len(window) > 0 {
		q.Window = window
	}
	if f.digest != "" {
		q.Digest = f.digest
	}
	if f.quiet != "" {
		q.Quiet = f.quiet
	}
	return q, nil
}

// weight returns the importance; 0 if none is named.
func (f *queryFlags) weight() (float64, error) {
	if f.importance == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(f.importance, 64)
	if err != nil || !(n > 0) {
		return 0, usagef("--importance: %q is not a number above 0", f.importance)
	}
	return n, nil
}

func (f *queryFlags) window() map[string]any {
	window := map[string]any{}
	for name, text := range map[string]string{"by": f.by, "over": f.over, "for": f.hold, "lasting": f.lasting, "silent": f.silent} {
		if text != "" {
			window[name] = text
		}
	}
	return window
}

// scope returns which sources are meant; nil means all. Sources can be named as
// everywhere.
func (f *queryFlags) scope(ctx context.Context, c *connection) (*client.Scope, error) {
	if len(f.sources)+len(f.tags)+len(f.sites) == 0 {
		return nil, nil
	}
	s := client.Scope{Tags: f.tags}
	for _, list := range []struct {
		names []string
		to    *[]freshet.SourceID
	}{{f.sources, &s.Sources}, {f.sites, &s.Sites}} {
		for _, name := range list.names {
			found, err := c.watched(ctx, name)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, found.ID)
		}
	}
	return &s, nil
}

// patch returns what was named, as a merge patch. What is empty is set back.
func (f *queryFlags) patch(ctx context.Context, c *connection, cmd *cobra.Command) (map[string]any, error) {
	patch := map[string]any{}
	named := cmd.Flags().Changed
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	for name, text := range map[string]string{"when": f.when, "trigger": f.trigger, "value": f.value, "digest": f.digest, "quiet": f.quiet, "rate": f.rate, "repeat": f.repeat} {
		if named(name) {
			patch[name] = orNull(text)
		}
	}
	if named("importance") {
		n, err := f.weight()
		if err != nil {
			return nil, err
		}
		if patch["importance"] = n; n == 0 {
			patch["importance"] = nil
		}
	}
	window := map[string]any{}
	for name, text := range map[string]string{"by": f.by, "over": f.over, "for": f.hold, "lasting": f.lasting, "silent": f.silent} {
		if named(name) {
			window[name] = orNull(text)
		}
	}
	if len(window) > 0 {
		patch["window"] = window
	}
	if named("source") || named("tag") || named("site") {
		scope, err := f.scope(ctx, c)
		if err != nil {
			return nil, err
		}
		patch["scope"] = map[string]any{"sources": orNone(scope.Sources), "tags": orNone(scope.Tags), "sites": orNone(scope.Sites)}
	}
	return patch, nil
}

// orNone returns a list, or nil if it is empty.
func orNone[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// printQuery prints a query for people.
func printQuery(p *program, q client.Query) error {
	paint := p.screen()
	var b strings.Builder
	row := func(name, format string, args ...any) {
		text := harmless(fmt.Sprintf(format, args...))
		fmt.Fprintf(&b, "%s %s\n", paint.Dim(fmt.Sprintf("%-10s", name)), paint.Prose(text, strings.Repeat(" ", 11)))
	}
	row("query", "%s  %s", q.ID, q.Name)
	row("scope", "%s", scopeText(q.Scope))
	if q.When != "" {
		row("when", "%s", oneLine(q.When))
	}
	if q.Trigger != "" && q.When != "" {
		row("trigger", "%s", map[string]string{"becomes": "when the condition becomes true", "first": "when the condition becomes true, and at the first look", "each": "each time the condition is true", "poll": "at each poll that finds the condition true"}[q.Trigger])
	}
	if q.Value != "" {
		row("value", "%s", oneLine(q.Value))
	}
	if q.Importance != 0 {
		row("importance", "a match counts as %g changes", q.Importance)
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"window", q.Window}, {"digest", q.Digest}, {"quiet", q.Quiet}} {
		if part.value != nil {
			row(part.name, "%s", partText(part.value))
		}
	}
	if q.Rate != "" {
		row("rate", "at most %s", q.Rate)
	}
	if q.Repeat != "" {
		row("repeat", "every %s until acknowledged; %d are not", q.Repeat, q.Unacknowledged)
	}
	row("state", "%s", stateOfQuery(q))
	if w := q.Waiting; w != nil && !w.Until.IsZero() {
		row("next", "sent at %s", w.Until.Local().Format(time.DateTime))
	}
	row("matches", "%d since %s", q.Matches, q.CreatedAt.Local().Format(time.DateTime))
	_, err := p.out.Write([]byte(b.String()))
	return err
}

// partText returns a part of a query as it could be written.
func partText(part any) string {
	if text, ok := part.(string); ok {
		return text
	}
	text, err := json.Marshal(part)
	if err != nil {
		return fmt.Sprint(part)
	}
	return string(text)
}

// printMatch prints a match: what it is about, when it happened, and its value.
func printMatch(p *program, m client.Match) {
	about := string(m.Source)
	if m.Change != nil {
		about = calledIn(*m.Change)
	}
	if m.Group != "" && m.Group != string(m.Source) {
		about = m.Group
	}
	if m.Value != nil {
		about += " = " + partText(m.Value)
	}
	if m.Change != nil {
		change := *m.Change
		printChange(p, change, fmt.Sprintf("#%d", m.Number), about)
		return
	}
	why := map[string]string{"silent": "no change met the condition", "held": "the condition held long enough", "poll": "a poll met the condition"}[string(m.Cause)]
	s := p.screen()
	fmt.Fprintf(p.out, "%s %s %s\n%s\n", s.Bold(fmt.Sprintf("#%d", m.Number)), harmless(about), s.Dim(moment(m.At, p.now())), s.Prose("  "+why, "  "))
}
