package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"freshet"
	"freshet/sched"
)

func (p *program) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure on this machine what polling costs and how much it bears",
		Long: `Measure a real daemon (scheduler, fetcher, extraction, diff, and a store on disk
that syncs every commit) against a server on loopback. The server is another
process, so that CPU time is that of the daemon alone.`,
		Example: "  freshet bench poll\n  freshet bench hold --for 10m",
		Args:    takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.benchPoll(), p.benchHold())
	return cmd
}

// A benchRig is a daemon and the server that it polls.
type benchRig struct {
	*node
	origin *benchOrigin
	data   string
}

// A benchPlan says what a rig is made of.
type benchPlan struct {
	sources, hosts, workers int
	changed                 float64 // share of requests that find a new version
	policy                  string
	dir                     string // where the data goes; "" means the system's place for such things
}

// openRig starts a server and puts a daemon over its pages, which does nothing
// until it is run. The rig must be closed.
func (p *program) openRig(ctx context.Context, plan benchPlan) (_ *benchRig, err error) {
	r := &benchRig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.origin, err = startOrigin(ctx, plan); err != nil {
		return nil, err
	}
	if r.data, err = os.MkdirTemp(plan.dir, "freshet-bench-"); err != nil {
		return nil, fmt.Errorf("make a place to work: %w", err)
	}
	s := p.defaults()
	s.data, s.policy, s.fetch.Allow = r.data, plan.policy, []netip.Prefix{loopback}
	s.limits = sched.Limits{Hosts: sched.Politeness{Concurrency: plan.workers}, Workers: plan.workers, Budget: closed}
	if r.node, err = openNode(ctx, nodeConfig{settings: s, budget: sched.Budget{Polls: float64(plan.sources), Per: time.Minute}, expect: plan.sources}); err != nil {
		return nil, err
	}
	return r, r.fill(ctx)
}

// fill adds the pages as sources, many at a time so that they share commits.
func (r *benchRig) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(256)
	for i, url := range r.origin.urls {
		group.Go(func() error {
			_, err := r.store.AddSource(ctx, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("p%06d", i)), URL: url})
			return err
		})
	}
	return group.Wait()
}

// close ends the server and removes the data.
func (r *benchRig) close() (err error) {
	if r.node != nil {
		err = r.node.close()
	}
	if r.data != "" {
		err = errors.Join(err, os.RemoveAll(r.data))
	}
	if r.origin != nil {
		err = errors.Join(err, r.origin.stop())
	}
	return err
}

// Budgets between which a rig is switched while its daemon runs: as good as
// nothing, and more than any machine can spend.
var (
	closed = sched.Budget{Polls: 1, Per: 24 * time.Hour}
	wide   = sched.Budget{Polls: 1e6, Per: time.Second}
)

// spend sets what the daemon may spend from now on.
func (r *benchRig) spend(b sched.Budget) {
	l := r.daemon.Limits()
	l.Budget = b
	r.daemon.SetLimits(l)
}

// work runs the daemon while do is at it.
func (r *benchRig) work(ctx context.Context, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended, err := r.start(running)
	if err != nil {
		return err
	}
	group.Go(func() error { return <-ended })
	group.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return group.Wait()
}

// until waits until the daemon has made so many polls, or ctx is done.
func (r *benchRig) until(ctx context.Context, polls int64) error {
	for r.daemon.Status().Polls < polls {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for a time, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// profiled does something while a profile of it is written to a file, if one
// is named.
func profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return do()
}
