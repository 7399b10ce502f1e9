package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// pollPatience is how long to wait for a poll if nothing else is said. The
// budget and the host may make it wait.
const pollPatience = 30 * time.Second

const pollHelp = `Poll sources as soon as the budget and their hosts allow, and print the results.
--all polls every source that is not paused, and --tag those with a tag: longest
unseen first. Each result is printed as its poll ends, and the last line is a summary.

If a poll has to wait longer than --wait, the reason and the time are printed at once.
--now polls although the min_gap of a source has not passed; the budget, the delay of
the host and its Retry-After still apply. With --all and --tag, --wait limits the
whole round; without it the round takes as long as the budget and the hosts need.

Without a daemon this process makes the polls. The exit code is 1 if a poll fails, or
if there is no daemon to make it later. For cron, use freshet serve once.`

// A polling is one run of the verb poll.
type polling struct {
	*program
	wait      lengthFlag
	limited   bool // --wait was given
	json, now bool
	all       bool
	tag       string
}

func pollVerb(p *program) *cobra.Command {
	v := polling{program: p, wait: lengthFlag(pollPatience)}
	cmd := &cobra.Command{
		Use:   "poll {SOURCE... | --tag TAG | --all}",
		Short: "Poll sources now",
		Long:  pollHelp,
		Example: "  freshet poll news\n  freshet poll --now news\n  freshet poll --wait 0 https://example.com/\n" +
			"  freshet poll --all\n  freshet poll --tag shop --wait 5m",
	}
	flags := cmd.Flags()
	flags.Var(&v.wait, "wait", "for the outcome; 0 only asks for the poll")
	flags.BoolVar(&v.now, "now", false, "do not wait for the min_gap of a source")
	tagFlag(cmd, &v.tag)
	flags.BoolVar(&v.all, "all", false, "all sources that are not paused, instead of naming them")
	named := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		v.limited = cmd.Flag("wait").Changed
		switch {
		case v.all && (len(args) > 0 || v.tag != ""):
			return usagef("poll: name sources, or give --tag or --all, but only one of these")
		case v.all:
			return nil
		}
		return named(cmd, args)
	}
	jsonFlag(cmd, &v.json)
	optionFlags(flags, "allow-cidr")
	return completed(p, clientVerb(p, cmd, true, func(ctx context.Context, c *connection, args []string) error {
		if v.all || v.tag != "" {
			return v.round(ctx, c)
		}
		return c.forEach(ctx, args, func(s client.Source) error { return v.one(ctx, c, s) })
	}), -1)
}

// one polls one source.
func (v *polling) one(ctx context.Context, c *connection, s client.Source) error {
	patience := time.Duration(v.wait)
	if c.local { // there is no daemon to make the poll later
		patience = max(patience, pollPatience)
	}
	waiting, stop := context.WithCancel(ctx)
	said := make(chan struct{})
	go func() {
		defer close(said)
		v.sayWait(waiting, c, s)
	}()
	answer, err := c.Sources.Poll(ctx, s.ID, patience, v.now)
	stop()
	<-said
	if err != nil {
		return err
	}
	if v.json {
		err = v.printJSON(answer)
	} else {
		printPoll(v.program, s, answer)
	}
	return errors.Join(err, pollError(answer), c.unmade(s, answer))
}

// sayWait says on a terminal what a poll waits for, if it has to for more than a
// moment.
func (v *polling) sayWait(ctx context.Context, c *connection, s client.Source) {
	if !isTerminal(v.err) || v.json {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Second):
	}
	wanted, err := c.RequestedPolls(ctx)
	if err != nil {
		return // the poll itself says what is wrong
	}
	for _, h := range wanted {
		if h.Source == s.ID && h.Hold != nil && h.Hold.Kind != "none" && h.Hold.Kind != "under_way" {
			fmt.Fprintln(v.err, display.Palette(v.colours(v.err)).Dim(fmt.Sprintf("waiting: %s", holdInWords(h.Hold, v.program.now()))))
		}
	}
}

// round polls many sources.
func (v *polling) round(ctx context.Context, c *connection) error {
	r := &round{program: v.program, c: c, query: client.RoundQuery{Tag: v.tag, Now: v.now}, limit: -1}
	if v.limited && !(c.local && v.wait == 0) {
		r.limit = time.Duration(v.wait)
	}
	r.report = func(t sourceResult) error {
		if v.json {
			return v.printLine(t)
		}
		return r.print(t)
	}
	if err := r.run(ctx); err != nil {
		return err
	}
	if v.json {
		if err := v.printLine(map[string]roundSum{"summary": r.sum}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(v.out, v.screen().Message(r.sum.String()))
	}
	if r.sum.Failed > 0 || c.local && r.sum.Held > 0 {
		return errNotWell
	}
	return nil
}

// printPoll prints the result of a poll.
func printPoll(p *program, s client.Source, a client.PollAnswer) {
	paint := p.screen()
	o := a.Outcome
	switch {
	case o == nil:
		fmt.Fprintf(p.out, "%s: not polled yet: %s\n", label(s), holdInWords(a.Hold, p.now()))
	case o.Result == freshet.Failed.String(): // printed as the error
	case o.Result == freshet.Unchanged.String():
		fmt.Fprintf(p.out, "%s: %s, version %d\n", label(s), paint.Dim("unchanged"), o.Version)
	case o.Result == freshet.Doubted.String():
		fmt.Fprintf(p.out, "%s: %s\n", label(s), heldPoll(*o, paint.Palette))
	default:
		fmt.Fprintf(p.out, "%s: %s\n", label(s), capturedPoll(*o, paint.Palette))
	}
}

// capturedPoll describes a result that stored a version.
func capturedPoll(o client.Outcome, paint display.Palette) string {
	switch {
	case o.Result == freshet.First.String() && o.Version > 1:
		return fmt.Sprintf("%s, as it is read from now on", paint.Green(fmt.Sprintf("version %d stored", o.Version)))
	case o.Result == freshet.First.String():
		return paint.Green("first version stored")
	}
	return fmt.Sprintf("%s, version %d", paint.Green(o.Result), o.Version)
}

// heldPoll describes a result that is held as suspect.
func heldPoll(o client.Outcome, paint display.Palette) string {
	words := fmt.Sprintf("%s as suspect, version %d", paint.Yellow("held"), o.Version)
	if o.Suspect != nil {
		words += ": " + harmless(o.Suspect.String())
	}
	if o.LookAgain > 0 {
		words += fmt.Sprintf("; looked at again in %s", roughDuration(time.Duration(o.LookAgain)))
	}
	return words
}

// print prints the result of a source.
func (r *round) print(t sourceResult) error {
	s := r.screen()
	name, now := r.labelOf(t.Source), r.now()
	if s.Width > 0 {
		name = display.Shorten(name, max(display.LeastWidth/2, s.Width/2))
	}
	line := ""
	switch {
	case t.Skipped && t.Hold != nil && t.Hold.Kind == "paused":
		return nil // counted at the end
	case t.Skipped:
		line = fmt.Sprintf("%s: skipped: %s", name, holdInWords(t.Hold, now))
	case t.Outcome == nil && t.Hold == nil:
		line = fmt.Sprintf("%s: not polled: it was removed", name)
	case t.Outcome == nil:
		line = fmt.Sprintf("%s: not polled yet: %s", name, holdInWords(t.Hold, now))
	case t.Outcome.Result == freshet.Failed.String():
		line = fmt.Sprintf("%s: %s: %s (%s)", name, s.Red("failed"), harmless(t.Outcome.Error), t.Outcome.Failure)
	case t.Outcome.Result == freshet.Unchanged.String():
		line = fmt.Sprintf("%s: %s, version %d", name, s.Dim("unchanged"), t.Outcome.Version)
	case t.Outcome.Result == freshet.Doubted.String():
		line = fmt.Sprintf("%s: %s", name, heldPoll(*t.Outcome, s.Palette))
	default:
		line = fmt.Sprintf("%s: %s", name, capturedPoll(*t.Outcome, s.Palette))
	}
	_, err := fmt.Fprintln(r.out, s.Message(line))
	return err
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

// unmade returns the error of a poll that was not made, and that no daemon will make.
func (c *connection) unmade(s client.Source, a client.PollAnswer) error {
	if a.Outcome != nil || !c.local {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s was not polled, and no daemon runs that would do it later", s.ID),
		"poll it again when nothing is in the way, or start a daemon with freshet serve")
}

// pollError returns the error of a failed poll.
func pollError(a client.PollAnswer) error {
	if a.Outcome == nil || a.Outcome.Result != freshet.Failed.String() {
		return nil
	}
	return fmt.Errorf("poll %s: %s (%s)", a.Outcome.Source, harmless(a.Outcome.Error), a.Outcome.Failure)
}
