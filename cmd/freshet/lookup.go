package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// watched returns the source that was named and is watched.
func (c *connection) watched(ctx context.Context, named string) (client.Source, error) {
	s, err := c.Sources.Find(ctx, named)
	if err == nil && s.Removed {
		err = freshet.WithHint(fmt.Errorf("source %s was removed: %w among the watched sources", s.ID, freshet.ErrNotFound),
			fmt.Sprintf("freshet add %s --id %s watches it again; freshet history %s lists the versions that are still stored", s.URL, s.ID, s.ID))
	}
	return s, err
}

// tagFlag lets a verb that takes sources take all that have a tag instead.
func tagFlag(cmd *cobra.Command, tag *string) {
	cmd.Flags().StringVar(tag, "tag", "", "all sources with this tag, instead of named ones")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case *tag == "":
			return takes(1, -1)(cmd, args)
		case len(args) > 0:
			return usagef("%s: name sources or use --tag, not both", cmd.Name())
		}
		return nil
	}
}

// forEachOf runs do for each source that is named or, if there is a tag, that has
// it. It goes on after a failure, and returns how many succeeded and all failures.
func (c *connection) forEachOf(ctx context.Context, named []string, tag string, do func(client.Source) error) (done int, err error) {
	counting := func(s client.Source) error {
		err := do(s)
		if err == nil {
			done++
		}
		return err
	}
	if tag == "" {
		return done, c.forEach(ctx, named, counting)
	}
	found, err := c.Sources.List(ctx, client.SourceQuery{Tag: tag})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, noneTagged(tag)
	}
	var faults []error
	for _, s := range found {
		if err := counting(s); err != nil {
			faults = append(faults, err)
		}
	}
	return done, errors.Join(faults...)
}

// noneTagged says that no source has a tag.
func noneTagged(tag string) error {
	return freshet.WithHint(fmt.Errorf("sources with the tag %q: %w", tag, freshet.ErrNotFound), "freshet show SOURCE shows the tags of a source")
}

// forEach runs do for each watched source named, goes on after a failure, and
// returns all failures.
func (c *connection) forEach(ctx context.Context, named []string, do func(client.Source) error) error {
	return forEach(ctx, named, c.watched, do)
}

// forEach runs do for each source named, as find finds it.
func forEach(ctx context.Context, named []string, find func(context.Context, string) (client.Source, error), do func(client.Source) error) error {
	var faults []error
	for _, name := range named {
		s, err := find(ctx, name)
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
	return fmt.Sprintf("%s (%s)", s.ID, harmless(s.DisplayName()))
}

// sayDone says that something was done with a source, on one line of the screen.
func sayDone(p *program, done string, s client.Source) error {
	line := done + " " + label(s)
	if width := p.columnsOf(p.out); width > 0 {
		line = display.Shorten(line, width)
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// remark prints a remark on standard error, apart from the output.
func (p *program) remark(format string, args ...any) {
	fmt.Fprintln(p.err, display.Screen{Width: p.columnsOf(p.err)}.Message(fmt.Sprintf(format, args...)))
}

// completed has the shell complete the IDs of sources, or their names if those begin as was typed.
func completed(p *program, cmd *cobra.Command, most int) *cobra.Command {
	return completeNames(p, cmd, most, func(ctx context.Context, c *connection, begun string) ([]string, error) {
		found, err := c.Sources.List(ctx, client.SourceQuery{Text: begun})
		return each(found, func(s client.Source) string {
			name := harmless(s.DisplayName())
			if len(begun) <= len(name) && strings.EqualFold(begun, name[:len(begun)]) && !strings.HasPrefix(string(s.ID), begun) {
				return name + "\t" + string(s.ID)
			}
			return string(s.ID) + "\t" + name
		}), err
	})
}

// warnOfFile warns that the configuration file overrides this edit on reload.
func warnOfFile(p *program, s client.Source) {
	if s.Origin == freshet.FromFile {
		p.remark("note: %s is listed in the configuration file; the next reload or restart will undo this change", s.ID)
	}
}
