package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/config"
	"freshet/policy"
	"freshet/stage"
)

// A demo is one run of the verb demo: a daemon that watches a web whose truth
// is known.
type demo struct {
	*program
	stage.Demo
	length time.Duration // zero means until interrupted
	json   bool
	plain  bool
	chart  string // file for a picture of the course; "" means none
}

// demoLength is how long the demo runs if nobody can interrupt it by hand.
const demoLength = 3 * time.Minute

func demoVerb(p *program) *cobra.Command {
	d := demo{program: p, Demo: stage.Demo{Settings: config.Defaults(p.env)}}
	var budget, chosen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a built-in synthetic web, and see what is captured and what is missed",
		Long: `Start a small web on loopback whose pages, feeds and JSON endpoints change on
known schedules, and watch it under a tight budget with a real daemon: real
sockets, a real store in a directory that is removed at the end. No Internet is
needed.

Because the truth is known here, the view says what no daemon can say of the
real Web: which changes were missed. Beside the policy stands a rival that spends
the same budget on every page alike. Some pages change every few seconds and some
hardly ever, some in bursts, by the clock, or all of a site together. At first
both capture about the same; as the policy learns which is which, it pulls away.

Before the clock starts every page is looked at once, so that there is something
to compare with. On a terminal the demo goes on until Ctrl-C, otherwise for three
minutes. With --plot the course of both is drawn to an SVG file at the end.`,
		Example: "  freshet demo\n  freshet demo --for 10m --plot demo.svg\n  freshet demo --for 30s --json | tail -1",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Started = time.Now()
			err := errors.Join(wrongFlag("budget", d.Settings.SetBudget(budget)), wrongFlag("policy", d.Settings.SetPolicy(chosen)))
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.Var((*lengthFlag)(&d.length), "for", "how long to run (default: until Ctrl-C on a terminal, otherwise "+freshet.FormatDuration(demoLength)+")")
	flags.StringVar(&budget, "budget", "80/m", "requests to spend, such as 80/m or 2/s")
	flags.StringVar(&chosen, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Uint64Var(&d.Seed, "seed", 1, "of the web: the same seed gives the same changes")
	flags.BoolVar(&d.plain, "plain", false, "write lines instead of redrawing the terminal")
	flags.StringVar(&d.chart, "plot", "", "draw what both captured over time to this SVG file")
	jsonFlag(cmd, &d.json)
	return cmd
}

// run shows the demo until ctx is done or its time is over.
func (d *demo) run(ctx context.Context) (err error) {
	if d.Extract, err = extractor(); err != nil {
		return err
	}
	return d.Run(ctx, d.show)
}

// show shows what happens, until ctx is done, the time is over, or what runs
// beside it ends.
func (d *demo) show(ctx, running context.Context, s *stage.Stage) error {
	view := d.newView(s)
	view.open()
	defer view.close()
	var over <-chan time.Time
	if d.length == 0 && !view.redraws() {
		d.length = demoLength
	}
	if d.length > 0 {
		over = time.After(d.length)
	}
	tick := time.NewTicker(view.every())
	defer tick.Stop()
	for {
		select {
		case <-running.Done():
			return nil
		case <-ctx.Done():
			return d.finish(running, s, view)
		case <-over:
			return d.finish(running, s, view)
		case <-tick.C:
		}
		scene, err := s.Look(running, time.Now())
		if err != nil {
			return err
		}
		if err := view.draw(scene); err != nil {
			return err
		}
	}
}

// finish shows how it ended.
func (d *demo) finish(ctx context.Context, s *stage.Stage, view *demoView) error {
	scene, err := s.Look(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := view.finish(scene); err != nil || d.chart == "" {
		return err
	}
	chart := s.Chart(fmt.Sprintf("Share of changes captured in the last minute, at %s", rate(s.Budget)), scene.At.Sub(s.Began))
	if err := os.WriteFile(d.chart, []byte(chart.SVG()), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
