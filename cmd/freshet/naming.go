package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
	"freshet/node"
)

// find returns the source that was named by its id, its name or its URL.
func (c *connection) find(ctx context.Context, named string) (s client.Source, err error) {
	if freshet.ValidSourceID(freshet.SourceID(named)) || named != "" && strings.Trim(named, ".") == "" {
		s, err := c.Source(ctx, freshet.SourceID(named))
		if err == nil || !errors.Is(err, freshet.ErrNotFound) {
			return s, err
		}
	}
	near, err := c.Sources(ctx, client.SourceQuery{Text: strings.TrimSuffix(named, "/")})
	if err != nil {
		return s, err
	}
	var found []client.Source
	for _, s := range near {
		if shown := freshet.MaskURL(named); s.Name == named || s.URL == shown || strings.TrimSuffix(s.URL, "/") == shown {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return s, freshet.WithHint(fmt.Errorf("source %q: %w", freshet.Shorten(freshet.MaskURL(named), 200), freshet.ErrNotFound), "freshet list shows the sources; name one by its id, its name or its URL")
	case 1:
		return found[0], nil
	}
	ids := each(found, func(s client.Source) string { return string(s.ID) })
	return s, freshet.WithHint(usagef("%q names %d sources", named, len(found)), "name one by its id: "+strings.Join(ids, ", "))
}

// forEach runs do for each source named, goes on after a failure, and returns
// all failures.
func (c *connection) forEach(ctx context.Context, named []string, do func(client.Source) error) error {
	var faults []error
	for _, name := range named {
		s, err := c.find(ctx, name)
		if err == nil {
			err = do(s)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// label names a source for people.
func label(s client.Source) string {
	if s.Name != "" {
		return fmt.Sprintf("%s (%s)", s.ID, harmless(s.Name))
	}
	return fmt.Sprintf("%s (%s)", s.ID, s.URL)
}

// completed has the shell complete the ids of sources.
func completed(p *program, cmd *cobra.Command, most int) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := p.connect(cmd, node.Reading)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer c.close()
		found, err := c.Sources(cmd.Context(), client.SourceQuery{Text: begun})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return each(found, func(s client.Source) string { return string(s.ID) + "\t" + s.URL }), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// warnOfFile tells that an edit of a source of the file does not last.
func warnOfFile(p *program, s client.Source) {
	if s.Origin == freshet.FromFile {
		fmt.Fprintf(p.err, "note: %s is listed in the configuration file; the next reload or start sets it back to what the file says\n", s.ID)
	}
}
