package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/test/bench"
)

// A sinksBench is one run of the verb "bench sinks".
type sinksBench struct {
	*program
	bench.Sinks
	freshet freshetFlag
	json    bool
}

func benchSinksVerb(p *program) *cobra.Command {
	b := sinksBench{program: p, Sinks: bench.Sinks{Length: time.Minute, Plan: bench.Plan{Policy: "uniform", Hosts: 20, Workers: 64}}}
	var rate, streams string
	cmd := &cobra.Command{
		Use:   "sinks",
		Short: "See whether failing receivers make deliveries to others late",
		Long: `Start a daemon as a separate process, with many webhooks, and measure how long a
change takes from the poll that saw it to its receipt: first with healthy webhooks
alone, then with as many of which some fail. They refuse connections, answer 500 or
429, hang, reset the connection, or answer a byte a second.

Then do the same with clients of the change stream, of which some hardly read. One
that takes nothing for 30 seconds is cut off; see whether all come back and miss nothing.`,
		Example: "  freshet-lab bench sinks\n  freshet-lab bench sinks --clients 0 --fan-out 100 --for 30s\n  freshet-lab bench sinks --webhooks 0 --clients 1000 --for 3m --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if b.Streams, err = sched.ParseBudget(streams); err != nil {
				return cli.WrongFlag("stream-rate", invalid.ReasonOf(err))
			}
			for name, share := range map[string]float64{"failing": b.Failing, "slow": b.Slow} {
				if !(share >= 0 && share < 1) {
					return cli.Usagef("--%s: %g is not a share from 0 to 1", name, share)
				}
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Endpoints, "webhooks", 1000, "number of webhooks; 0 leaves them out")
	flags.Float64Var(&b.Failing, "failing", 0.3, "share of webhooks that fail, 0 to 1")
	flags.IntVar(&b.FanOut, "fan-out", 10, "how many webhooks get each change")
	flags.StringVar(&rate, "rate", "50/s", "changes to make")
	flags.IntVar(&b.Clients, "clients", 1000, "clients of the change stream; 0 leaves them out")
	flags.Float64Var(&b.Slow, "slow", 0.1, "share of clients that hardly read, 0 to 1")
	flags.StringVar(&streams, "stream-rate", "10/s", "changes to make while clients follow the stream")
	flags.IntVar(&b.Plan.Sources, "sources", 500, "pages that change")
	flags.Var((*cli.Length)(&b.Length), "for", "length of one round")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	b.freshet.register(flags)
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *sinksBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	b.Daemon, b.Say = []string{b.freshet.path()}, b.say
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSON(b.out, r)
	}
	t := table{head: "RECEIVERS\tRECEIVED\tMISSING\tTWICE\tP50\tP99\tMOST\tCPU\tPEAK RSS\tLOAD"}
	add := func(name string, round bench.SinksRound, missing, twice int) {
		t.add(name, round.Received, missing, twice, seconds(round.Took.P50), seconds(round.Took.P99),
			seconds(round.Took.Most), fmt.Sprintf("%.0f%%", 100*round.CPU), cli.Size(round.RSS), fmt.Sprintf("%.1f", round.Load))
	}
	if b.Endpoints > 0 {
		add(fmt.Sprintf("%d webhooks", r.Alone.Healthy), r.Alone, r.Alone.Missing, r.Alone.Repeated)
		add(fmt.Sprintf("%d among %d that fail", r.Among.Healthy, r.Among.Failing), r.Among, r.Among.Missing, r.Among.Repeated)
	}
	if b.Clients > 0 {
		add(fmt.Sprintf("%d clients", r.Swift.Healthy), r.Swift, r.Swift.Gaps, 0)
		add(fmt.Sprintf("%d among %d slow ones", r.Slow.Healthy, r.Slow.Failing), r.Slow, r.Slow.Gaps, 0)
	}
	if err := t.write(b.out); err != nil {
		return err
	}
	if b.Endpoints > 0 {
		fmt.Fprintf(b.out, "among failing webhooks, the 99th percentile of healthy ones is %.2f times as long\n", r.Ratio)
	}
	if b.Clients > 0 {
		fmt.Fprintf(b.out, "among slow clients, that of the others is %.2f times as long; slow ones were cut off %d times, and %d of %d had all changes in the end\n",
			r.Stream, r.Slow.Cut, r.Slow.Caught, r.Slow.Failing)
	}
	return nil
}
