package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

func sinkVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Send changes to webhooks, chats, mail and other receivers",
		Long: `Manage sinks: receivers of changes, or of the matches of queries. A sink can also be listed
in the configuration file, under sinks: or webhooks:, and is then changed there.

Each sink has its own cursor in the change log. A failed delivery is retried for about
three days, with the same id and content; changes of one source arrive in order. "freshet
sink kinds" lists the kinds of sink.`,
	}
	return grouped(cmd, sinkAddVerb(p), sinkListVerb(p), sinkShowVerb(p), sinkEditVerb(p), sinkRemoveVerb(p), sinkTestVerb(p), sinkAttemptsVerb(p), sinkOwedVerb(p), sinkLettersVerb(p), sinkReplayVerb(p), sinkKindsVerb(p))
}

// sinkFlags are what can be set of a sink.
type sinkFlags struct {
	set                               *pflag.FlagSet
	kind, url, template, templateFile string
	queries, tags, sources            []string
	settings, headers                 []string
	paused                            bool
}

func (f *sinkFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.kind, "kind", "", "kind of sink; freshet sink kinds lists them")
	set.StringVar(&f.url, "url", "", "where to send")
	set.StringArrayVar(&f.settings, "set", nil, "setting of the kind, as NAME=VALUE; can be repeated")
	set.StringArrayVar(&f.headers, "header", nil, "HTTP header to send, as NAME=VALUE; can be repeated")
	set.StringSliceVar(&f.queries, "query", nil, "matches of this query instead of changes; can be repeated")
	set.StringSliceVar(&f.tags, "tag", nil, "only changes of sources with this tag; can be repeated")
	set.StringSliceVar(&f.sources, "source", nil, "changes of this source; can be repeated")
	set.StringVar(&f.template, "template", "", "text of the message, in the syntax of Go's text/template")
	set.StringVar(&f.templateFile, "template-file", "", "file to read the text from; - means standard input")
	set.BoolVar(&f.paused, "paused", false, "queue deliveries instead of sending them")
}

// patch returns what was given as a merge patch.
func (f *sinkFlags) patch(in io.Reader) (map[string]any, error) {
	patch := map[string]any{}
	given := func(flag, name string, value any) {
		if f.set.Changed(flag) {
			patch[name] = value
		}
	}
	given("kind", "kind", f.kind)
	given("url", "url", f.url)
	given("query", "queries", tidy(f.queries))
	given("tag", "tags", tidy(f.tags))
	given("source", "sources", tidy(f.sources))
	given("paused", "paused", f.paused)
	given("template", "template", f.template)
	if f.templateFile != "" {
		text, err := readTemplate(f.templateFile, in)
		if err != nil {
			return nil, usagef("--template-file: %v", err)
		}
		patch["template"] = text
	}
	for flag, list := range map[string][]string{"set": f.settings, "header": f.headers} {
		values := map[string]any{}
		for _, item := range list {
			name, value, ok := strings.Cut(item, "=")
			if !ok || name == "" {
				return nil, usagef("--%s: %q is not NAME=VALUE", flag, item)
			}
			if values[name] = value; value == "" {
				values[name] = nil
			}
		}
		if len(values) > 0 {
			patch[map[string]string{"set": "settings", "header": "headers"}[flag]] = values
		}
	}
	return patch, nil
}

// tidy returns a list without what is empty.
func tidy(list []string) []string {
	return slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return s == "" })
}

// readTemplate reads a template from a file or from standard input.
func readTemplate(path string, in io.Reader) (string, error) {
	if path == "-" {
		text, err := io.ReadAll(io.LimitReader(in, 1<<20))
		return string(text), err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

func sinkAddVerb(p *program) *cobra.Command {
	var f sinkFlags
	var asJSON, preview bool
	cmd := &cobra.Command{
		Use:   "add NAME [URL]",
		Short: "Add a sink",
		Long: `Add a sink. It receives changes from now on; "freshet sink replay" sends earlier ones.

The kind follows from the scheme of the URL if that names a service. The URLs of
Shoutrrr work: slack://, discord://, telegram://, ntfy://, gotify://, matrix://,
mattermost://, googlechat://, pagerduty:// and generic://.

Store secrets with "freshet settings secret set NAME --host HOST" and refer to them as
${secret:NAME}. Secrets in plain text are stored encrypted and never shown again.

A template has the fields .Title .Name .URL .Summary .Tags .Source .Seq .Number .Before
.After .Fields .Items .Page .Suspect .Link .ID and, of the texts, .Added .Removed .Diff
and .Text; of a query .Kind .Query .QueryName .Match .Count .Cause .Value .ValueText .Hold
and .Entries, which a digest has. Functions: json html urlquery upper lower trim truncate
replace join lines contains default date printf fence quiet mrkdwn.`,
		Example: "  freshet sink add phone ntfy://ntfy.sh/my-topic --tag urgent\n" +
			"  freshet sink add team 'slack://hook:T0-B0-key@webhook' --template '{{.Title}}: {{.Summary}}'\n" +
			"  freshet sink add bot --kind telegram --set chat=-100123 --set 'token=${secret:bot}'\n" +
			"  freshet sink add deals ntfy://ntfy.sh/deals --query cheap --query back-in-stock\n" +
			"  freshet sink add ci https://ci.example/hook --kind webhook --set 'secret=${secret:ci}'",
		Args: takes(1, 2),
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&preview, "preview", false, "only print a sample message; add nothing")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if len(args) == 2 {
			if cmd.Flags().Changed("url") {
				return usagef("add: give the URL only once")
			}
			if err := cmd.Flags().Set("url", args[1]); err != nil {
				return err
			}
		}
		patch, err := f.patch(p.in)
		if err != nil {
			return err
		}
		n := newSink(patch)
		if preview {
			t, err := c.Sinks.Preview(ctx, n)
			if err != nil {
				return fmt.Errorf("add sink %s: %w", args[0], err)
			}
			return printTrial(p, t, asJSON)
		}
		s, err := c.Sinks.Add(ctx, args[0], n)
		if err != nil {
			return fmt.Errorf("add sink %s: %w", args[0], err)
		}
		if asJSON {
			return p.printJSON(s)
		}
		fmt.Fprintf(p.out, "added sink %s (%s)\n", s.Name, s.Kind)
		noteSink(p, s)
		p.remark("freshet sink test %s sends a sample", s.Name)
		return nil
	})
}

// noteSink warns of a problem of a sink that was added or changed.
func noteSink(p *program, s client.SinkInfo) {
	if st := s.Standing; st.Error != "" && st.Hint != "" {
		warn(p, []string{st.Error + "; " + st.Hint})
	}
}

// newSink returns what a patch says of a new sink.
func newSink(patch map[string]any) (n client.NewSink) {
	values := func(name string) map[string]string {
		found := map[string]string{}
		given, _ := patch[name].(map[string]any)
		for name, v := range given {
			if text, ok := v.(string); ok {
				found[name] = text
			}
		}
		return found
	}
	n.Kind, _ = patch["kind"].(string)
	n.URL, _ = patch["url"].(string)
	n.Template, _ = patch["template"].(string)
	n.Paused, _ = patch["paused"].(bool)
	n.Tags, _ = patch["tags"].([]string)
	n.Queries, _ = patch["queries"].([]string)
	sources, _ := patch["sources"].([]string)
	n.Sources = each(sources, func(id string) freshet.SourceID { return freshet.SourceID(id) })
	n.Settings, n.Headers = values("settings"), values("headers")
	return n
}

func sinkResource() resource[client.SinkInfo, *connection] {
	return resource[client.SinkInfo, *connection]{
		noun:    "sink",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.SinkInfo, error) { return c.Sinks.List(ctx) },
		none:    "there are no sinks; freshet sink add NAME URL adds one",
		table:   display.Table{Head: []string{"NAME", "KIND", "STATE", "WAITING", "GIVEN UP", "FOR", "URL"}, Drop: []string{"FOR", "GIVEN UP"}, Short: map[string]int{"NAME": 12}},
		row: func(s client.SinkInfo) []string {
			return []string{s.Name, s.Kind, string(s.Standing.State), fmt.Sprint(s.Standing.Open), fmt.Sprint(s.Standing.Dead), wantedBy(s.NewSink), s.URL}
		},
		remove: func(ctx context.Context, c *connection, name string) error { return c.Sinks.Remove(ctx, name) },
	}
}

func sinkListVerb(p *program) *cobra.Command {
	return sinkResource().listVerb(p, &cobra.Command{Short: "List the sinks and their state", Example: "  freshet sink list\n  freshet sink list --json"})
}

// wantedBy describes what a sink receives.
func wantedBy(s client.NewSink) string {
	wanted := slices.Clone(s.Tags)
	for _, id := range s.Queries {
		wanted = append(wanted, "query "+string(id))
	}
	for _, id := range s.Sources {
		wanted = append(wanted, string(id))
	}
	if len(wanted) == 0 {
		return "all"
	}
	return strings.Join(wanted, ", ")
}

func sinkShowVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a sink and its state",
		Example: "  freshet sink show team\n  freshet sink show team --json",
		Args:    takes(1, 1),
	}
	return completeSinks(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (client.SinkInfo, error) {
		return c.Sinks.Get(ctx, args[0])
	}, func(_ *connection, s client.SinkInfo) error {
		printSink(p, s)
		return nil
	}))
}

// printSink prints a sink for people.
func printSink(p *program, s client.SinkInfo) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(p.out, "%-10s %s\n", name, harmless(value))
		}
	}
	now, st := p.now(), s.Standing
	line("Sink", s.Name)
	line("Kind", s.Kind)
	line("URL", s.URL)
	if len(s.Queries) > 0 {
		line("Matches", "of "+wantedBy(s.NewSink))
	} else {
		line("Changes", "of "+wantedBy(s.NewSink))
	}
	for _, values := range []map[string]string{s.Settings, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			line("Set", name+" = "+values[name])
		}
	}
	line("From", map[freshet.Origin]string{freshet.FromFile: "the configuration file", freshet.FromAPI: "freshet sink add"}[s.Origin])
	line("State", string(st.State))
	if !st.Failing.IsZero() {
		line("Failing", ago(st.Failing, now))
	}
	if !st.Held.IsZero() {
		line("Held", ago(st.Held, now)+"; it is tried once an hour")
	}
	line("Error", st.Error)
	line("Hint", st.Hint)
	line("Waiting", deliveries(st.Open))
	line("Given up", deliveries(st.Dead))
	line("Place", st.Place.String())
	if s.Template != "" {
		fmt.Fprintf(p.out, "Template\n%s\n", display.HarmlessLines(s.Template))
	}
}

func sinkEditVerb(p *program) *cobra.Command {
	var f sinkFlags
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Change a sink",
		Long: `Change a sink. Only the flags you give are changed: --set and --header change single
values, and an empty value resets one; --query, --tag and --source replace the lists. The
sink keeps its cursor, and pending deliveries are sent as they were rendered. A sink that
switches between changes and queries starts with the next event.`,
		Example: "  freshet sink edit team --tag urgent\n  freshet sink edit team --paused\n  freshet sink edit team --paused=false\n  freshet sink edit phone --set priority=5 --template ''",
		Args:    takes(1, 1),
	}
	f.register(cmd.Flags())
	optionFlags(cmd.Flags(), "allow-cidr")
	return completeSinks(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (s client.SinkInfo, err error) {
		patch, err := f.patch(p.in)
		if err != nil {
			return s, err
		}
		if len(patch) == 0 {
			return s, noChanges("use a flag such as --tag or --set; freshet sink edit --help lists them")
		}
		if s, err = c.Sinks.Edit(ctx, args[0], patch, 0); err != nil {
			err = fmt.Errorf("edit sink %s: %w", args[0], err)
		}
		return s, err
	}, func(_ *connection, s client.SinkInfo) error {
		fmt.Fprintf(p.out, "changed sink %s\n", s.Name)
		noteSink(p, s)
		return nil
	}))
}

func sinkRemoveVerb(p *program) *cobra.Command {
	return completeSinks(p, sinkResource().removeVerb(p, &cobra.Command{
		Use: "remove NAME...", Short: "Remove sinks, with everything that waits for them", Example: "  freshet sink remove team",
	}))
}

// completeSinks has the shell complete the names of sinks.
func completeSinks(p *program, cmd *cobra.Command) *cobra.Command {
	return completeNames(p, cmd, -1, func(ctx context.Context, c *connection, begun string) ([]string, error) {
		list, err := c.Sinks.List(ctx)
		return withPrefix(each(list, func(s client.SinkInfo) string { return s.Name + "\t" + s.Kind }), begun), err
	})
}

func sinkKindsVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "kinds [KIND]",
		Short:   "List the kinds of sink and their settings",
		Example: "  freshet sink kinds\n  freshet sink kinds telegram",
		Args:    takes(0, 1),
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		all := sinks.Kinds()
		if len(args) == 1 {
			all = slices.DeleteFunc(all, func(k sinks.Kind) bool { return k.Name != args[0] })
			if len(all) == 0 {
				return freshet.WithHint(fmt.Errorf("kind %s: %w", args[0], freshet.ErrNotFound), "freshet sink kinds lists all kinds")
			}
		}
		if asJSON {
			return p.printJSON(all)
		}
		if len(args) == 0 {
			t := display.Table{Head: []string{"KIND", "WHAT IT IS"}}
			for _, k := range all {
				t.Add(display.Plain(k.Name), display.Plain(k.About))
			}
			return t.Write(p.out, p.screen())
		}
		printKind(p, all[0])
		return nil
	}
	return cmd
}

// printKind prints a kind with its settings.
func printKind(p *program, k sinks.Kind) {
	fmt.Fprintf(p.out, "%s: %s\n", k.Name, k.About)
	if k.URL != "" {
		fmt.Fprintf(p.out, "\nURL\n  %s\n", k.URL)
	}
	if len(k.Settings) > 0 {
		fmt.Fprintln(p.out, "\nSettings")
	}
	for _, s := range k.Settings {
		about := s.About
		if s.Needed {
			about += " (needed)"
		}
		fmt.Fprintf(p.out, "  %-14s %s\n", s.Name, about)
	}
	if k.Words != "" {
		fmt.Fprintf(p.out, "\nTemplate\n%s\n", k.Words)
	}
}
