package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

const onceHelp = `Poll every source once and exit: for cron and timers, without a daemon.

Every source that is not paused is polled once, within the budget and the limits of
its host, longest unseen first. A source is skipped if its min_gap or source_gap has
not passed, if it failed a short while ago, or if its server says that it is still
fresh. Queries are run over the changes, changes and matches are delivered to sinks,
including what is pending from earlier rounds, and expired history is deleted. What a
digest, quiet hours or a rate limit hold back is delivered by the first round after
its time.

Changes and matches are printed, and failures on standard error. If there are none,
nothing is printed, so cron sends no mail. --verbose prints every source and a
summary; a terminal always gets the summary.

If a daemon runs on the data directory, it makes the round. Only one round runs at a
time: a second one exits at once with code 5. SIGINT and SIGTERM end the round
cleanly; the next one continues with the remaining sources.

Exit codes, besides the usual ones:
  0  success
  1  a poll failed, deliveries are pending, or the round was interrupted
  6  success, and something changed; only with --exit-code`

// A onceRun is one run of the verb once.
type onceRun struct {
	*program
	tag      string
	json     bool
	verbose  bool
	exitCode bool
	deliver  lengthFlag

	began time.Time
	round round
	owed  int // deliveries, when it was given up to wait for them
}

func onceVerb(p *program) *cobra.Command {
	v := onceRun{program: p, deliver: lengthFlag(20 * time.Second)}
	cmd := &cobra.Command{
		Use:   "once",
		Short: "Poll every source once and exit, for cron",
		Long:  onceHelp,
		Example: "  freshet serve once\n  freshet serve once --config /etc/freshet.yaml --data /var/lib/freshet\n" +
			"  freshet serve once --exit-code --tag shop\n\n  # crontab: every quarter of an hour\n  */15 * * * * freshet serve once",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.tag, "tag", "", "poll only sources with this tag")
	flags.BoolVar(&v.exitCode, "exit-code", false, "exit with 6 if something changed")
	flags.BoolVarP(&v.verbose, "verbose", "v", false, "print every source and a summary")
	flags.Var(&v.deliver, "deliver-wait", "how long to wait for sinks that do not respond; the next round sends what is pending then")
	jsonFlag(cmd, &v.json)
	optionFlags(flags, "store", "budget", "source-gap", "host-delay", "allow-cidr")
	return cmd
}

// run makes the round: by the daemon that holds the data directory, or else here.
func (v *onceRun) run(cmd *cobra.Command) error {
	v.began = v.now()
	s, err := v.sendingSettings(cmd)
	if err != nil {
		return err
	}
	if err := s.CheckData(); err != nil {
		return err
	}
	a, err := app.ReadAddress(s.Data)
	if err != nil {
		return fmt.Errorf("look for a daemon: %w", err)
	}
	if a.URL != "" && a.Answers(cmd.Context()) {
		if a.Once {
			return freshet.WithHint(fmt.Errorf("another freshet serve once is at work on %s: %w", s.Data, freshet.ErrBusy),
				"let it end; if this happens often, make rounds less often, or raise the budget")
		}
		for _, name := range []string{"budget", "source-gap", "host-delay"} {
			if cmd.Flag(name).Changed {
				return freshet.WithHint(usagef("once: --%s makes no sense, because the daemon at %s makes the round with its own settings", name, a.URL),
					"leave it out, or stop the daemon")
			}
		}
		if v.verbose {
			fmt.Fprintf(v.err, "note: the daemon at %s makes the round\n", a.URL)
		}
		if err := v.make(cmd.Context(), remote(a.URL, a.Token, a.Trust())); err != nil {
			return err
		}
		return v.verdict()
	}
	return v.serve(cmd.Context(), s)
}

// serve is a daemon for one round.
func (v *onceRun) serve(ctx context.Context, s config.Settings) error {
	extract, err := extractor()
	if err != nil {
		return err
	}
	limitMemory(ctx, v.env)
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)   // the rest is printed by the round
	s.API.Listen = "127.0.0.1:0" // other verbs can look on
	over, begun, made := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	err = app.Serve(ctx, s, app.ServeConfig{
		Extract: extract, Version: thisBuild().Version, Grace: 3 * impatience,
		Log:  v.newLogger(v.err, s.Log.Format, level),
		Once: over,
		Announce: func(url string) error {
			at, err := app.ReadAddress(s.Data)
			if err != nil {
				return err
			}
			close(begun)
			go func() {
				defer close(over)
				made <- v.make(ctx, remote(url, at.Token, at.Trust()))
			}()
			return nil
		},
	})
	if err != nil {
		return err
	}
	select {
	case <-begun:
		err = <-made
	default: // it was interrupted before that
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; %s", v.round.sum)
	}
	if err != nil {
		return err
	}
	return v.verdict()
}

// make makes the round, prints its results, and waits for the queries and the sinks.
func (v *onceRun) make(ctx context.Context, c *connection) error {
	status, err := atWorkWith(ctx, c)
	if err != nil {
		return err
	}
	v.round = round{program: v.program, c: c, query: client.RoundQuery{Tag: v.tag, Spare: true}, limit: -1}
	v.round.report = v.report
	if err := v.round.run(ctx); err != nil {
		return err
	}
	if !v.json {
		if err := v.printChanges(ctx, c, status.LastChange); err != nil {
			return err
		}
	}
	if err := v.awaitQueries(ctx, c); err != nil {
		return err
	}
	if err := v.printMatches(ctx, c); err != nil {
		return err
	}
	if v.owed, err = v.awaitDeliveries(ctx, c); err != nil {
		return err
	}
	return v.sumUp()
}

// atWorkWith returns the status of a daemon when the sources of the file have been taken on.
func atWorkWith(ctx context.Context, c *connection) (client.Status, error) {
	for {
		s, err := c.Status(ctx)
		if err != nil || s.Loading == nil && s.Running {
			return s, err
		}
		if err := pause(ctx); err != nil {
			return s, err
		}
	}
}

// pause waits before something is looked at again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}

// report prints the result of a source: failures always, the rest with --verbose.
// What changed is printed when the round is over.
func (v *onceRun) report(t sourceResult) error {
	failed := t.Outcome != nil && t.Outcome.Result == freshet.Failed.String()
	switch {
	case v.json:
		return v.printLine(t)
	case failed:
		fmt.Fprintf(v.err, "freshet: poll %s: %s (%s)\n", v.round.labelOf(t.Source), harmless(t.Outcome.Error), t.Outcome.Failure)
	case v.verbose:
		return v.round.print(t)
	}
	return nil
}

// printChanges prints what the round captured.
func (v *onceRun) printChanges(ctx context.Context, c *connection, after freshet.Place) error {
	for {
		page, err := c.Changes(ctx, client.ChangeQuery{After: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, change := range page.Items {
			s, ours := v.round.names[change.Source]
			if ours {
				printChange(v.program, change, cmp.Or(s.Name, s.Standing.Title, s.URL), "")
			}
		}
		if after = page.Next; len(page.Items) == 0 {
			return nil
		}
	}
}

// awaitQueries waits until the queries have gone through what the round brought.
func (v *onceRun) awaitQueries(ctx context.Context, c *connection) error {
	for begun := time.Now(); ; {
		s, err := c.Status(ctx)
		if err != nil || !s.Behind {
			return err
		}
		if time.Since(begun) > time.Duration(v.deliver) {
			fmt.Fprintln(v.err, "freshet: the queries have not gone through all changes; the next round goes on")
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// printMatches prints what queries have matched since the verb began.
func (v *onceRun) printMatches(ctx context.Context, c *connection) error {
	queries, err := c.Queries.List(ctx)
	if err != nil {
		return err
	}
	for _, q := range queries {
		matches, err := v.newMatches(ctx, c, q.ID)
		if err != nil {
			return err
		}
		for _, m := range matches {
			if v.json {
				err = v.printLine(map[string]any{"match": m})
			} else {
				_, err = fmt.Fprintf(v.out, "query %s:\n", harmless(q.ID))
				printMatch(v.program, m)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// newMatches returns what a query has matched since the verb began, the oldest first.
func (v *onceRun) newMatches(ctx context.Context, c *connection, id string) (found []client.Match, err error) {
	const most = 1000
	page, err := c.Queries.Matches(ctx, id, client.MatchQuery{Newest: true, Limit: most})
	if err != nil {
		return nil, err
	}
	for _, m := range page.Items {
		if !m.KnownAt.Before(v.began) {
			found = append(found, m)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// awaitDeliveries waits until no delivery is pending, and returns how many still
// are when nothing has moved for long.
func (v *onceRun) awaitDeliveries(ctx context.Context, c *connection) (owed int, err error) {
	const unread = 3 * time.Second // within which a sink that is at work reads the log
	before, moved := "", time.Now()
	for {
		s, err := c.Status(ctx)
		if err != nil {
			return owed, err
		}
		behind := false
		owed = 0
		for _, sink := range s.Sinks {
			if sink.State == client.SinkPaused || sink.State == client.SinkBroken || sink.State == client.SinkGone {
				continue // its deliveries wait until an operator acts
			}
			owed += sink.Open
			behind = behind || sink.Behind
		}
		if now := fmt.Sprint(s.Sinks); now != before {
			before, moved = now, time.Now()
		}
		still := time.Since(moved)
		if owed == 0 && (!behind || still > unread) || still >= time.Duration(v.deliver) {
			return owed, nil
		}
		if err := pause(ctx); err != nil {
			return owed, err
		}
	}
}

// sumUp prints the summary of the round.
func (v *onceRun) sumUp() error {
	if v.owed > 0 {
		fmt.Fprintf(v.err, "freshet: sinks: %s pending; the next round tries again, and freshet status lists them\n", deliveries(v.owed))
	}
	switch {
	case v.json:
		return v.printLine(map[string]any{"summary": v.round.sum, "owed": v.owed})
	case v.verbose || isTerminal(v.out):
		fmt.Fprintln(v.out, v.screen().Message(v.round.sum.String()))
	}
	return nil
}

// errChanged ends a verb with exitChanged.
var errChanged = errors.New("something changed")

// verdict returns what the exit code says of the round.
func (v *onceRun) verdict() error {
	switch {
	case v.round.sum.Failed > 0 || v.owed > 0:
		return errNotWell
	case v.exitCode && v.round.sum.Changed > 0:
		return errChanged
	}
	return nil
}
