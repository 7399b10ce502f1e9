package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// A resource is a kind of thing that has a name, such as a sink or a user, with what its
// verbs list, show, add, edit and remove have in common. B is the backend of the verbs:
// the API, or a directory of secrets.
type resource[T, B any] struct {
	noun    string // in messages, such as "sink"
	backend backend[B]
	all     func(context.Context, B) ([]T, error)
	none    string        // printed instead of an empty list
	table   display.Table // without rows
	row     func(T) []string
	remove  func(ctx context.Context, b B, name string) error
}

// A backend makes a command one that opens B, runs and closes it.
type backend[B any] func(p *program, cmd *cobra.Command, run func(context.Context, B, []string) error) *cobra.Command

// overAPI is the backend of resources that the daemon keeps.
func overAPI(p *program, cmd *cobra.Command, run func(context.Context, *connection, []string) error) *cobra.Command {
	return clientVerb(p, cmd, false, run)
}

// listVerb makes cmd the verb that lists a resource.
func (r resource[T, B]) listVerb(p *program, cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	var limit int
	cmd.Use, cmd.Args = "list", takes(0, 0)
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit, 0)
	return r.backend(p, cmd, func(ctx context.Context, b B, _ []string) error {
		items, err := r.all(ctx, b)
		if err != nil {
			return err
		}
		items = firstOf(items, limit)
		switch {
		case asJSON:
			return p.printJSON(append([]T{}, items...)) // an empty list is [], not null
		case len(items) == 0:
			p.remark("%s", r.none)
			return nil
		}
		t := r.table
		for _, item := range items {
			t.Add(each(r.row(item), func(text string) display.Cell { return display.Plain(harmless(text)) })...)
		}
		return t.Write(p.out, p.screen())
	})
}

// removeVerb makes cmd the verb that removes what is named. It continues after a failure.
func (r resource[T, B]) removeVerb(p *program, cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd.Aliases, cmd.Args = []string{"rm"}, takes(1, -1)
	jsonFlag(cmd, &asJSON)
	return r.backend(p, cmd, func(ctx context.Context, b B, names []string) error {
		var failed []error
		for _, name := range names {
			err := r.remove(ctx, b, name)
			switch {
			case err != nil:
				err = fmt.Errorf("remove %s %s: %w", r.noun, name, err)
			case asJSON:
				err = p.printLine(map[string]any{"removed": name})
			default:
				_, err = fmt.Fprintf(p.out, "removed %s %s\n", r.noun, name)
			}
			if err != nil {
				failed = append(failed, err)
			}
		}
		return errors.Join(failed...)
	})
}

// resultVerb makes cmd a verb that does something and prints the result: show, add and
// edit of a resource.
func resultVerb[T, B any](p *program, cmd *cobra.Command, backend backend[B], run func(ctx context.Context, b B, args []string) (T, error), print func(B, T) error) *cobra.Command {
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	return backend(p, cmd, func(ctx context.Context, b B, args []string) error {
		result, err := run(ctx, b, args)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(result)
		}
		return print(b, result)
	})
}

// completeNames has the shell complete up to most names; below zero means any number.
// Each is a name and, after a tab, what the shell shows beside it.
func completeNames(p *program, cmd *cobra.Command, most int, names func(ctx context.Context, c *connection, begun string) ([]string, error)) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := p.connect(cmd, app.Reading)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer c.close()
		all, err := names(cmd.Context(), c, begun)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// withPrefix returns the names that begin with what was typed.
func withPrefix(names []string, begun string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// noChanges is the error of an edit without a flag that changes something.
func noChanges(hint string) error {
	return freshet.WithHint(usagef("edit: no changes given"), hint)
}

// orDash returns a text for a table, with "-" for none.
func orDash(s string) string { return cmp.Or(harmless(s), "-") }
