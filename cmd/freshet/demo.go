package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/app/demo"
	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A demoRun is one run of the verb demo: a daemon that watches a web whose truth
// is known.
type demoRun struct {
	*program
	demo.Demo
	length time.Duration // zero means until interrupted
	json   bool
	plain  bool
	chart  string // file for a picture of the course; "" means none
}

// demoLength is how long the demo runs if nobody can interrupt it by hand.
const demoLength = 3 * time.Minute

func demoVerb(p *program) *cobra.Command {
	d := demoRun{program: p, Demo: demo.Demo{Settings: config.Defaults(p.env)}}
	var budget, chosen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See Freshet work on a simulated web, without any setup",
		Long: `Start a small simulated web on this machine and watch it with a real daemon under a
tight budget. No Internet access is needed, and nothing is left behind.

The simulation knows when each page changes, so the demo can show what is impossible
to know on the real web: how many changes were missed. Some pages change every few
seconds and some almost never; some change in bursts, at fixed times, or together
with the rest of their site. For comparison, a rival spends the same budget on all
pages equally. At first both capture about the same share of changes. As Freshet
learns when each page changes, it captures more.

Every page is polled once before the clock starts. On a terminal the demo runs until
you press Ctrl-C, otherwise for three minutes. --plot draws both curves to an SVG
file at the end.`,
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
	flags.StringVar(&budget, "budget", "80/m", "most requests to make, such as 80/m or 2/s")
	flags.StringVar(&chosen, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Uint64Var(&d.Seed, "seed", 1, "seed of the simulation: the same seed gives the same changes")
	flags.BoolVar(&d.plain, "plain", false, "print lines instead of redrawing the screen")
	flags.StringVar(&d.chart, "plot", "", "draw the share captured over time to this SVG file")
	jsonFlag(cmd, &d.json)
	return cmd
}

// run shows the demo until ctx is done or its time is over.
func (d *demoRun) run(ctx context.Context) (err error) {
	if d.Extract, err = extractor(); err != nil {
		return err
	}
	return d.Run(ctx, d.show)
}

// show shows what happens, until ctx is done, the time is over, or what runs
// beside it ends.
func (d *demoRun) show(ctx, running context.Context, s *demo.Stage) error {
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
func (d *demoRun) finish(ctx context.Context, s *demo.Stage, view *demoView) error {
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
