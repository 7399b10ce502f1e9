package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/sched"
	"freshet/internal/sinks"
)

// A watching is one run of the verb watch.
type watching struct {
	*program
	config.Settings
	recipe sourceFlags
	every  time.Duration
	most   int
	json   bool

	node    *app.Node
	sources map[freshet.SourceID]freshet.Source
	began   time.Time
	changes int

	polls, failed atomic.Int64
}

func watchVerb(p *program) *cobra.Command {
	w := watching{program: p, sources: map[freshet.SourceID]freshet.Source{}}
	cmd := &cobra.Command{
		Use:   "watch URL...",
		Short: "Watch pages in the terminal, without a daemon",
		Long: `Watch pages and print each change as a diff, until you press Ctrl-C. No daemon is
needed and nothing is stored. To keep history, use serve and add.

The first poll of a page shows what is there and is not a change. Each change is
printed with the time of the poll that found it, and how long ago the previous poll
was: the change happened in between. With --json each change is one line with a
CloudEvent.`,
		Example: "  freshet watch https://example.com/\n" +
			"  freshet watch --every 30s --css '#prices' https://shop.example/list\n" +
			"  freshet watch --allow-cidr 127.0.0.0/8 --json http://127.0.0.1:9000/status",
		Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			if cmd.Flag("data").Changed {
				return freshet.WithHint(usagef("watch: --data has no effect, because watch stores nothing"), "to keep history, run freshet serve --data DIR, then freshet add URL")
			}
			if w.every > 0 && cmd.Flag("budget").Changed {
				return usagef("watch: use --every or --budget, not both")
			}
			var err error
			if w.Settings, err = p.settings(cmd); err != nil {
				return err
			}
			p.sayFile(cmd, w.Settings)
			return w.run(cmd.Context(), urls)
		},
	}
	flags := cmd.Flags()
	optionFlags(flags, "budget", "source-gap", "host-delay", "allow-cidr", "policy")
	flags.Var((*lengthFlag)(&w.every), "every", "poll each page this often, if its host allows")
	flags.IntVarP(&w.most, "count", "n", 0, "stop after this many changes")
	w.recipe.register(flags, "select.")
	jsonFlag(cmd, &w.json)
	return cmd
}

// run watches until ctx is done or enough changes have been printed.
func (w *watching) run(ctx context.Context, urls []string) (err error) {
	listed, err := w.admitted(urls)
	if err != nil {
		return err
	}
	if w.every > 0 {
		w.Limits.Budget = sched.Budget{Polls: float64(len(listed)), Per: max(w.every, time.Second)}
	}
	if w.Data, err = os.MkdirTemp("", "freshet-watch-"); err != nil {
		return fmt.Errorf("create a temporary directory: %w", err)
	}
	defer os.RemoveAll(w.Data)
	w.Store = "" // nothing is kept
	extract, err := extractor()
	if err != nil {
		return err
	}
	if w.node, err = app.Open(ctx, app.Config{Settings: w.Settings, Extract: extract, Observe: w.observe, Grace: impatience}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.node.Close()) }()
	for _, s := range listed {
		if s, err = w.node.Daemon.AddSource(ctx, s); err != nil {
			return err
		}
		w.sources[s.ID] = s
	}
	w.began = time.Now()
	w.say("watching %s, at most %s; press Ctrl-C to stop", counted(len(listed), "source"), cli.Rate(w.Limits.Budget))

	polling, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.node.Daemon.Run(polling) }()
	following := make(chan error, 1)
	go func() { following <- w.follow(polling) }()
	select {
	case err = <-ended:
		stop()
		err = errors.Join(err, <-following)
	case err = <-following:
		stop()
		err = errors.Join(err, <-ended)
	}
	w.say("watched for %s: %s, %s, %d failed", roughDuration(time.Since(w.began)),
		counted(int(w.polls.Load()), "poll"), counted(w.changes, "change"), w.failed.Load())
	return err
}

// admitted checks the URLs as those of sources would be.
func (w *watching) admitted(urls []string) (listed []freshet.Source, err error) {
	for _, raw := range urls {
		s, err := w.recipe.described()
		if err != nil {
			return nil, err
		}
		s.URL, s.MinGap = raw, w.every
		if w.every > 0 { // the user asked for this interval, whatever the policy would choose
			s.MaxGap = max(w.every, time.Second)
		}
		s.Origin = freshet.FromFile // the command line has the rights of the configuration file
		s, err = extract.CheckSource(s, w.CheckURL)
		if field, ok := invalid.FieldOf(err); ok && field != "url" {
			return nil, usagef("%w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", raw, err)
		}
		listed = append(listed, s)
	}
	return listed, nil
}

// follow prints changes until ctx is done or there were enough.
func (w *watching) follow(ctx context.Context) error {
	var at freshet.Cursor
	for {
		if err := w.node.Store.Wait(ctx, at); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		changes, err := w.node.Store.Changes(ctx, freshet.ChangeQuery{After: at, Limit: 100})
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, c := range changes {
			at = c.Cursor
			if err := w.show(ctx, c); err != nil {
				return err
			}
			if w.changes++; w.changes == w.most {
				return nil
			}
		}
	}
}

// show prints one change.
func (w *watching) show(ctx context.Context, c freshet.Change) error {
	if w.json {
		return w.printLine(sinks.Envelope(c, ""))
	}
	before, err := freshet.VersionBefore(ctx, w.node.Store, c.Source, c.Number)
	if err != nil {
		return err
	}
	old, err := w.node.Store.Text(ctx, c.Source, before.Number)
	if err != nil {
		return err
	}
	text, err := w.node.Store.Text(ctx, c.Source, c.Number)
	if err != nil {
		return err
	}
	change := sinks.ChangeOf(c)
	printChange(w.program, change, change.URL, "")
	newDiffView(w.program).Hunks(display.HunksOf(extract.Diff(old, text)))
	return nil
}

// observe counts polls, and prints first captures and failures.
func (w *watching) observe(_ freshet.Source, o freshet.Outcome) {
	w.polls.Add(1)
	url := mask.URL(w.sources[o.Source].URL)
	switch {
	case o.Result == freshet.First:
		w.say("%s first seen: %s", clock(o.Ended), url)
	case o.Result == freshet.Doubted && o.Quiet != "":
		w.say("%s held: %s: %s; a change is reported if it stays like this", clock(o.Ended), url, o.Suspect.Reason())
	case o.Result == freshet.Failed:
		w.failed.Add(1)
		w.say("%s failed: %s: %s", clock(o.Ended), url, harmless(mask.Text(o.Err)))
		if o.Failure.Is(failure.BlockedEgress) {
			w.say("hint: to watch private addresses, allow them, for example: --allow-cidr 127.0.0.0/8")
		}
	}
}

// say prints a remark on standard error.
func (w *watching) say(format string, args ...any) {
	fmt.Fprintln(w.err, display.Palette(w.colours(w.err)).Dim(fmt.Sprintf(format, args...)))
}
