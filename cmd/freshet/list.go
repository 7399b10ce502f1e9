package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"freshet/client"
)

func listVerb(p *program) *cobra.Command {
	var tag string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List the sources and how things stand with them",
		Long: `List the sources in the order of their ids: when each was last seen, how many
changes were captured, and whether polls of it succeed. With TEXT only those
that have it in their id, name or URL.`,
		Example: "  freshet list\n  freshet list --tag shop\n  freshet list --json example.com",
		Args:    takes(0, 1),
	}
	cmd.Flags().StringVar(&tag, "tag", "", "only sources with this tag")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		query := client.SourceQuery{Tag: tag}
		if len(args) > 0 {
			query.Text = args[0]
		}
		found, err := c.Sources(ctx, query)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(append([]client.Source{}, found...))
		}
		if len(found) == 0 {
			fmt.Fprintln(p.err, "no sources; add one with freshet add URL")
			return nil
		}
		return printSources(p, found)
	})
}

func printSources(p *program, found []client.Source) error {
	paint, now := p.screen(), p.now()
	t := table{
		head:  []string{"ID", "NAME", "URL", "SEEN", "CHANGES", "STATE"},
		short: map[string]int{"ID": 10, "NAME": 12, "URL": 20},
		drop:  []string{"CHANGES", "URL", "SEEN"},
	}
	for _, s := range found {
		state, colour := stateOf(s, paint.palette)
		t.add(plain(string(s.ID)), plain(harmless(s.Name)), plain(s.URL),
			plain(ago(s.Standing.LastSeen, now)), plain(strconv.Itoa(s.Standing.Changes)), cell{state, colour})
	}
	return t.write(p.out, paint)
}

// stateOf says in a word or two how a source is doing, and in which colour.
func stateOf(s client.Source, paint palette) (string, func(string) string) {
	st := s.Standing
	switch {
	case s.Paused:
		return "paused", paint.dim
	case st.Failures > 0 && st.LastError != nil:
		return fmt.Sprintf("failing ×%d: %s", st.Failures, st.LastError.Class), paint.red
	case st.Failures > 0:
		return fmt.Sprintf("failing ×%d", st.Failures), paint.red
	case st.LastSeen.IsZero():
		return "new", paint.yellow
	}
	return "ok", paint.green
}
