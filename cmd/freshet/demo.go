package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"freshet"
	"freshet/policy"
	"freshet/sched"
	"freshet/synth"
)

// A demo is one run of the verb demo: a daemon that watches a web whose truth
// is known.
type demo struct {
	*program
	settings
	length time.Duration // zero means until interrupted
	seed   uint64
	json   bool
	plain  bool
	chart  string // file for a picture of the course; "" means none

	started time.Time // when the verb began
	web     *synth.Web
	node    *node
}

// demoAge is how long the web has been there when the demo begins, so that its
// pages are in the midst of their rhythms.
const demoAge = time.Minute

// demoLength is how long the demo runs if nobody can interrupt it by hand.
const demoLength = 3 * time.Minute

func (p *program) demo() *cobra.Command {
	d := demo{program: p, settings: p.defaults()}
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
			d.started = time.Now()
			err := errors.Join(wrongFlag("budget", setBudget(&d.settings, budget)), wrongFlag("policy", setPolicy(&d.settings, chosen)))
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
	flags.Uint64Var(&d.seed, "seed", 1, "of the web: the same seed gives the same changes")
	flags.BoolVar(&d.plain, "plain", false, "write lines instead of redrawing the terminal")
	flags.StringVar(&d.chart, "plot", "", "draw what both captured over time to this SVG file")
	jsonFlag(cmd, &d.json)
	return cmd
}

// wrongFlag says which flag err is about.
func wrongFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("--%s: %w", name, err)
}

// loopback is where the synthetic webs live.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// run shows the demo until ctx is done or its time is over.
func (d *demo) run(ctx context.Context) (err error) {
	if d.data, err = os.MkdirTemp("", "freshet-demo-"); err != nil {
		return fmt.Errorf("make a place to work: %w", err)
	}
	defer os.RemoveAll(d.data)
	d.fetch.Allow = []netip.Prefix{loopback}
	d.limits.Hosts.Delay = 200 * time.Millisecond

	d.web = synth.Demo(d.seed, d.started.Add(-demoAge))
	server, err := d.web.Listen(ctx)
	if err != nil {
		return err
	}
	if d.node, err = openNode(ctx, nodeConfig{settings: d.inHaste(), budget: d.limits.Budget, expect: len(d.web.Pages())}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.node.close()) }()
	for _, s := range server.Sources() {
		if _, err := d.node.store.AddSource(ctx, s); err != nil {
			return err
		}
	}
	// What runs beside the view ends after it, so that an interrupted demo
	// still says how it ended.
	group, failing := errgroup.WithContext(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(failing)
	group.Go(func() error { return server.Run(running) })
	group.Go(func() error { return d.node.daemon.Run(running) })
	group.Go(func() error {
		defer stop()
		return d.show(ctx, running)
	})
	return group.Wait()
}

// inHaste returns the settings for the first look at all pages. What has been
// spent stays spent, but only for as long as the budget says: one of many short
// stretches leaves next to nothing to the first minute of the demo.
func (d *demo) inHaste() settings {
	s := d.settings
	s.limits.Budget = sched.Budget{Polls: 6, Per: 50 * time.Millisecond, Instant: 50 * time.Millisecond}
	return s
}

// show waits until every page has been looked at once, sets the limits of the
// demo and shows what happens, until ctx is done, the time is over, or what runs
// beside it ends.
func (d *demo) show(ctx, running context.Context) error {
	for d.node.daemon.Status().Polls < int64(len(d.web.Pages())) {
		select {
		case <-ctx.Done():
			return nil
		case <-running.Done():
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	d.node.daemon.SetLimits(d.limits)
	stage := d.newStage(len(d.web.Requests()))
	view := d.newView(stage)
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
			return d.finish(running, stage, view)
		case <-over:
			return d.finish(running, stage, view)
		case <-tick.C:
		}
		scene, err := stage.look(running, time.Now())
		if err != nil {
			return err
		}
		if err := view.draw(scene); err != nil {
			return err
		}
	}
}

// finish shows how it ended.
func (d *demo) finish(ctx context.Context, stage *demoStage, view *demoView) error {
	scene, err := stage.look(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := view.finish(scene); err != nil || d.chart == "" {
		return err
	}
	return stage.writeChart(d.chart, scene.At.Sub(stage.began))
}
