package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"freshet/client"
)

func sinkAttemptsVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "attempts NAME",
		Short: "List the last attempts at telling a sink",
		Long: `List the last attempts at telling a sink, newest first, with what the receiver said.
The daemon remembers fifty of each sink, since it started.`,
		Example: "  freshet sink attempts team\n  freshet sink attempts team --limit 5 --json",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit)
	return completedSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		list, err := c.Attempts(ctx, args[0])
		if err != nil {
			return err
		}
		list.Items = firstOf(list.Items, limit)
		if asJSON {
			return p.printJSON(list)
		}
		if len(list.Items) == 0 {
			p.remark("there was no attempt since the daemon started")
			return nil
		}
		t := table{head: []string{"ENDED", "EVENT", "ATTEMPT", "TOOK", "RESULT", "BY"}, drop: []string{"TOOK", "ATTEMPT", "BY"}}
		if !slices.ContainsFunc(list.Items, func(a client.Attempt) bool { return a.Node != "" }) {
			t.head, t.drop = t.head[:5], t.drop[:2]
		}
		for _, a := range list.Items {
			result := "accepted"
			if !a.Accepted {
				result = a.Error
			}
			row := []cell{plain(ago(a.At, p.now())), plain(a.ID), plain(fmt.Sprint(a.Attempt)), plain(fmt.Sprintf("%.0f ms", a.Took)), plain(harmless(result)), plain(harmless(a.Node))}
			t.add(row[:len(t.head)]...)
		}
		return t.write(p.out, p.screen())
	}))
}

func sinkOwedVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "owed NAME",
		Short: "List deliveries that a sink waits for",
		Long: `List the deliveries that a sink waits for, the next to be tried first. Of a source, or
of a query, only the first that waits is listed: the others come after it.`,
		Example: "  freshet sink owed team\n  freshet sink owed team --json",
		Args:    takes(1, 1),
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "at most this many, up to 1000")
	jsonFlag(cmd, &asJSON)
	return completedSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		list, err := c.Owed(ctx, args[0], limit)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(list)
		}
		if len(list.Items) == 0 {
			p.remark("nothing is owed")
			return nil
		}
		t := table{head: []string{"EVENT", "ATTEMPTS", "NEXT", "ERROR"}, drop: []string{"ATTEMPTS"}}
		for _, d := range list.Items {
			next := "now"
			if d.Next.After(p.now()) {
				next = "in " + roughDuration(d.Next.Sub(p.now()))
			}
			t.add(plain(d.ID), plain(fmt.Sprint(d.Attempts)), plain(next), plain(harmless(d.Error)))
		}
		if err := t.write(p.out, p.screen()); err != nil {
			return err
		}
		if list.Next != nil {
			p.remark("there are more; --limit shows up to 1000")
		}
		return nil
	}))
}
