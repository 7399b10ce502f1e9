package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func sinkAttemptsVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "attempts NAME",
		Short: "List the last delivery attempts of a sink",
		Long: `List the last delivery attempts of a sink, newest first, with the answer of the
receiver. The daemon keeps the last fifty of each sink since it started.`,
		Example: "  freshet sink attempts team\n  freshet sink attempts team --limit 5 --json",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit, 0)
	return completeSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		list, err := c.Sinks.Attempts(ctx, args[0])
		if err != nil {
			return err
		}
		list = firstOf(list, limit)
		if asJSON {
			return p.printJSON(client.AttemptList{Items: list})
		}
		if len(list) == 0 {
			p.remark("there was no attempt since the daemon started")
			return nil
		}
		t := display.Table{Head: []string{"ENDED", "EVENT", "ATTEMPT", "TOOK", "RESULT", "BY"}, Drop: []string{"TOOK", "ATTEMPT", "BY"}}
		if !slices.ContainsFunc(list, func(a client.Attempt) bool { return a.Node != "" }) {
			t.Head, t.Drop = t.Head[:5], t.Drop[:2]
		}
		for _, a := range list {
			result := "accepted"
			if !a.Accepted {
				result = a.Error
			}
			row := []display.Cell{display.Plain(ago(a.At, p.now())), display.Plain(a.ID), display.Plain(fmt.Sprint(a.Attempt)), display.Plain(fmt.Sprintf("%.0f ms", a.Took)), display.Plain(harmless(result)), display.Plain(harmless(a.Node))}
			t.Add(row[:len(t.Head)]...)
		}
		return t.Write(p.out, p.screen())
	}))
}

func sinkOwedVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "owed NAME",
		Short: "List the pending deliveries of a sink",
		Long: `List the pending deliveries of a sink, the next attempt first. Of each source or query
only the first pending delivery is listed; the others follow it in order.`,
		Example: "  freshet sink owed team\n  freshet sink owed team --json",
		Args:    takes(1, 1),
	}
	limitFlag(cmd, &limit, 100)
	jsonFlag(cmd, &asJSON)
	return completeSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) (err error) {
		var list client.PendingList
		list.Items, err = upTo(limit, func(have, most int) ([]client.PendingDelivery, bool, error) {
			page, err := c.Sinks.Pending(ctx, args[0], have, most)
			list.Next = page.Next
			return page.Items, page.Next != nil, err
		})
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(list)
		}
		if len(list.Items) == 0 {
			p.remark("nothing is pending")
			return nil
		}
		t := display.Table{Head: []string{"EVENT", "ATTEMPTS", "NEXT", "ERROR"}, Drop: []string{"ATTEMPTS"}}
		for _, d := range list.Items {
			next := "now"
			if d.Next.After(p.now()) {
				next = "in " + roughDuration(d.Next.Sub(p.now()))
			}
			t.Add(display.Plain(d.ID), display.Plain(fmt.Sprint(d.Attempts)), display.Plain(next), display.Plain(harmless(d.Error)))
		}
		if err := t.Write(p.out, p.screen()); err != nil {
			return err
		}
		if list.Next != nil {
			p.remark("there are more; --limit 0 prints all")
		}
		return nil
	}))
}

// errNotAccepted means that a receiver did not take a sample.
var errNotAccepted = fmt.Errorf("the sample was not accepted")

func sinkTestVerb(p *program) *cobra.Command {
	var asJSON, preview bool
	var change string
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Send a sample to a sink and show the answer",
		Long: `Send a sample to a sink and show what was sent and what the receiver answered. The
sample is not part of the change log, and is not tried again. If the receiver does not
accept it the exit code is 1. A sink that follows queries is sent a sample of a match.`,
		Example: "  freshet sink test team\n  freshet sink test team --preview\n  freshet sink test team --change 17~k3f9q2xw",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&preview, "preview", false, "show the message and send nothing")
	cmd.Flags().StringVar(&change, "change", "", "send the change at this cursor instead of a sample")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return completeSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		var at freshet.Place
		if change != "" {
			var err error
			if at, err = freshet.ParsePlace(change); err != nil {
				return usagef("--change: %v", err)
			}
		}
		t, err := c.Sinks.Test(ctx, args[0], at, preview)
		if err != nil {
			return fmt.Errorf("test sink %s: %w", args[0], err)
		}
		return printTrial(p, t, asJSON)
	}))
}

// printTrial prints a sample and what became of it.
func printTrial(p *program, t client.SinkTrial, asJSON bool) error {
	if asJSON {
		if err := p.printJSON(t); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(p.out, display.HarmlessLines(strings.ReplaceAll(t.Body, "\r\n", "\n")))
		if t.Accepted {
			fmt.Fprintf(p.out, "\naccepted: %s\n", display.HarmlessLines(t.Answer))
		}
	}
	if t.Sent && !t.Accepted {
		return freshet.WithHint(fmt.Errorf("%w: %s", errNotAccepted, t.Error), t.Hint)
	}
	return nil
}

func sinkLettersVerb(p *program) *cobra.Command {
	var asJSON bool
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "letters NAME",
		Short: "List the dead letters of a sink: deliveries that were given up",
		Long: `List the dead letters of a sink: deliveries that were given up after the last attempt,
because the receiver rejected the message, or because the message could not be rendered.
They are kept until they are replayed or the sink is removed. With --json each letter is
one line, with the message.`,
		Example: "  freshet sink letters team\n  freshet sink letters team --json",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&after, "after", "", "continue after this cursor of a change")
	limitFlag(cmd, &limit, 100)
	jsonFlag(cmd, &asJSON)
	return completeSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		letters, err := upTo(limit, func(_, most int) ([]client.DeadLetter, bool, error) {
			page, err := c.Sinks.DeadLetters(ctx, args[0], after, most)
			after = page.Next
			return page.Items, len(page.Items) == most, err
		})
		if err != nil {
			return err
		}
		if asJSON {
			for _, l := range letters {
				if err := p.printLine(l); err != nil {
					return err
				}
			}
			return nil
		}
		if len(letters) == 0 {
			p.remark("nothing was given up")
			return nil
		}
		t := display.Table{Head: []string{"EVENT", "FROM", "ATTEMPTS", "ERROR"}, Drop: []string{"FROM", "ATTEMPTS"}}
		for _, l := range letters {
			from := ""
			if !l.At.IsZero() {
				from = ago(l.At, p.now())
			}
			t.Add(display.Plain(l.ID), display.Plain(from), display.Plain(fmt.Sprint(l.Attempts)), display.Plain(harmless(l.Error)))
		}
		return t.Write(p.out, p.screen())
	}))
}

func sinkReplayVerb(p *program) *cobra.Command {
	var asJSON, dry bool
	var after, since string
	cmd := &cobra.Command{
		Use:   "replay NAME [EVENT...]",
		Short: "Deliver dead letters again, or everything since a cursor",
		Long: `Deliver again: all dead letters, or those with the given ids, or, with --after or --since,
everything that the sink selects from there on, whether it was delivered or not. The cursor
is that of a change or, if the sink follows queries, of a match. Events keep their ids, so
a receiver can drop duplicates.`,
		Example: "  freshet sink replay team\n  freshet sink replay team news.17~k3f9q2xw\n  freshet sink replay team --since 24h --dry-run\n  freshet sink replay team --after 0",
		Args:    takes(1, -1),
	}
	cmd.Flags().StringVar(&after, "after", "", "everything after this `cursor`; 0 means from the beginning")
	cmd.Flags().StringVar(&since, "since", "", "everything from this `time` on: a date, a time, or how long ago, such as 2d")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count what would be delivered")
	jsonFlag(cmd, &asJSON)
	return completeSinks(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		r := client.SinkReplay{After: after, DryRun: dry}
		if since != "" {
			var err error
			if r.Since, err = p.moment("since", since); err != nil {
				return err
			}
		}
		r.Letters = args[1:]
		done, err := c.Sinks.Replay(ctx, args[0], r)
		if err != nil {
			return fmt.Errorf("replay sink %s: %w", args[0], err)
		}
		switch {
		case asJSON:
			return p.printJSON(done)
		case dry:
			n := deliveries(done.Deliveries)
			if done.More {
				n = "more than " + n
			}
			fmt.Fprintf(p.out, "%s to sink %s would be made\n", n, args[0])
			return nil
		case after != "" || since != "":
			fmt.Fprintf(p.out, "sink %s continues after %s\n", args[0], done.Place)
		default:
			fmt.Fprintf(p.out, "%s to sink %s are made again\n", deliveries(done.Deliveries), args[0])
		}
		if c.local {
			p.remark("no daemon is running; freshet serve or freshet serve once sends them")
		}
		return nil
	}))
}
