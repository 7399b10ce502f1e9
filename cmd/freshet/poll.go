package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
)

// pollPatience is how long to wait for a poll if nothing else is said. The
// budget and the host may make it wait.
const pollPatience = 30 * time.Second

func pollVerb(p *program) *cobra.Command {
	wait := lengthFlag(pollPatience)
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "poll SOURCE...",
		Short: "Poll sources now",
		Long: `Poll sources as soon as the budget and their hosts allow, and say what was found.
A poll that fails gives exit code 1.`,
		Example: "  freshet poll news\n  freshet poll --wait 0 https://example.com/",
		Args:    takes(1, -1),
	}
	cmd.Flags().Var(&wait, "wait", "for the outcome; 0 only asks for the poll")
	jsonFlag(cmd, &asJSON)
	optionFlags(cmd.Flags(), "allow-cidr")
	return completed(p, clientVerb(p, cmd, true, func(ctx context.Context, c *connection, args []string) error {
		return c.forEach(ctx, args, func(s client.Source) error {
			patience := time.Duration(wait)
			if c.local { // there is nobody to make the poll later
				patience = max(patience, pollPatience)
			}
			answer, err := c.Poll(ctx, s.ID, patience)
			if err != nil {
				return err
			}
			if asJSON {
				err = p.printJSON(answer)
			} else {
				printPoll(p, s, answer)
			}
			return errors.Join(err, failure(answer))
		})
	}), -1)
}

// printPoll says for people what a poll found.
func printPoll(p *program, s client.Source, a client.PollAnswer) {
	paint := p.screen()
	o := a.Outcome
	switch {
	case o == nil:
		fmt.Fprintf(p.out, "%s: will be polled as soon as the budget and its host allow\n", label(s))
	case o.Result == freshet.Failed.String(): // told as the error
	case o.Result == freshet.Unchanged.String():
		fmt.Fprintf(p.out, "%s: %s, version %d\n", label(s), paint.dim("unchanged"), o.Version)
	default:
		fmt.Fprintf(p.out, "%s: %s, version %d\n", label(s), paint.green(o.Result), o.Version)
	}
}

// failure returns why a poll failed, if it did.
func failure(a client.PollAnswer) error {
	if a.Outcome == nil || a.Outcome.Result != freshet.Failed.String() {
		return nil
	}
	return fmt.Errorf("poll %s: %s (%s)", a.Outcome.Source, harmless(a.Outcome.Error), a.Outcome.Failure)
}
