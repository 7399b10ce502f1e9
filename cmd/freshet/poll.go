package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/web"
)

// pollPatience is how long to wait for a poll if nothing else is said. The
// budget and the host may make it wait.
const pollPatience = 30 * time.Second

func (p *program) poll() *cobra.Command {
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
	return p.completed(p.clientVerb(cmd, true, func(ctx context.Context, c *client, args []string) error {
		return c.forEach(ctx, args, func(s web.Source) error {
			patience := time.Duration(wait)
			if c.local { // there is nobody to make the poll later
				patience = max(patience, pollPatience)
			}
			answer, err := c.poll(ctx, s.ID, patience)
			if err != nil {
				return err
			}
			if asJSON {
				err = p.printJSON(answer)
			} else {
				p.printPoll(s, answer)
			}
			return errors.Join(err, failure(answer))
		})
	}), -1)
}

// poll asks for a poll of a source and waits for its outcome.
func (c *client) poll(ctx context.Context, id freshet.SourceID, wait time.Duration) (a web.PollAnswer, err error) {
	err = c.call(ctx, http.MethodPost, sourcePath(id, "poll"), url.Values{"wait": {wait.String()}}, nil, &a)
	return a, err
}

// printPoll says for people what a poll found.
func (p *program) printPoll(s web.Source, a web.PollAnswer) {
	paint := palette(p.colours(p.out))
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
func failure(a web.PollAnswer) error {
	if a.Outcome == nil || a.Outcome.Result != freshet.Failed.String() {
		return nil
	}
	return fmt.Errorf("poll %s: %s (%s)", a.Outcome.Source, harmless(a.Outcome.Error), a.Outcome.Failure)
}
