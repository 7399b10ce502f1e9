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
	var asJSON, now bool
	cmd := &cobra.Command{
		Use:   "poll SOURCE...",
		Short: "Poll sources now",
		Long: `Poll sources as soon as the budget and their hosts allow, and say what was found.
What is in the way for longer than --wait is said at once, with the time. --now polls
although the min_gap of a source has not passed; the budget, the delay of a host and
a time that it asked for are kept all the same.

Without a daemon this process makes the poll. A poll that fails, or that nobody is
there to make later, gives exit code 1.`,
		Example: "  freshet poll news\n  freshet poll --now news\n  freshet poll --wait 0 https://example.com/",
		Args:    takes(1, -1),
	}
	cmd.Flags().Var(&wait, "wait", "for the outcome; 0 only asks for the poll")
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for the min_gap of a source")
	jsonFlag(cmd, &asJSON)
	optionFlags(cmd.Flags(), "allow-cidr")
	return completed(p, clientVerb(p, cmd, true, func(ctx context.Context, c *connection, args []string) error {
		return c.forEach(ctx, args, func(s client.Source) error {
			patience := time.Duration(wait)
			if c.local { // there is nobody to make the poll later
				patience = max(patience, pollPatience)
			}
			ask := c.Poll
			if now {
				ask = c.PollNow
			}
			answer, err := ask(ctx, s.ID, patience)
			if err != nil {
				return err
			}
			if asJSON {
				err = p.printJSON(answer)
			} else {
				printPoll(p, s, answer)
			}
			return errors.Join(err, failure(answer), c.unmade(s, answer))
		})
	}), -1)
}

// printPoll says for people what a poll found.
func printPoll(p *program, s client.Source, a client.PollAnswer) {
	paint := p.screen()
	o := a.Outcome
	switch {
	case o == nil:
		fmt.Fprintf(p.out, "%s: not polled yet: %s\n", label(s), holdInWords(a.Hold, p.now()))
	case o.Result == freshet.Failed.String(): // told as the error
	case o.Result == freshet.Unchanged.String():
		fmt.Fprintf(p.out, "%s: %s, version %d\n", label(s), paint.dim("unchanged"), o.Version)
	default:
		fmt.Fprintf(p.out, "%s: %s, version %d\n", label(s), paint.green(o.Result), o.Version)
	}
}

// holdInWords says what a poll waits for and, if that is known, until when.
func holdInWords(h *client.Hold, now time.Time) string {
	switch {
	case h == nil || h.Kind == "none":
		return "it is polled as soon as its turn comes"
	case h.Until.IsZero():
		return h.Reason
	}
	left := max(0, h.Until.Sub(now))
	at := h.Until.Local().Format(time.TimeOnly)
	if left > 20*time.Hour {
		at = h.Until.Local().Format(time.DateTime)
	}
	words := fmt.Sprintf("%s; it can be polled at %s (in %s)", h.Reason, at, roughDuration(left))
	if h.Kind == "min_gap" {
		words += ", or now with --now"
	}
	return words
}

// unmade says that a poll was not made and that nobody is there to make it later.
func (c *connection) unmade(s client.Source, a client.PollAnswer) error {
	if a.Outcome != nil || !c.local {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s was not polled, and no daemon runs that would do it later", s.ID),
		"poll it again when nothing is in the way, or start a daemon with freshet serve")
}

// failure returns why a poll failed, if it did.
func failure(a client.PollAnswer) error {
	if a.Outcome == nil || a.Outcome.Result != freshet.Failed.String() {
		return nil
	}
	return fmt.Errorf("poll %s: %s (%s)", a.Outcome.Source, harmless(a.Outcome.Error), a.Outcome.Failure)
}
