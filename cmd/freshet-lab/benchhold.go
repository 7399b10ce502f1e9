package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/bench"
	"freshet/internal/units"
)

// A holdBench is one run of the verb "bench hold".
type holdBench struct {
	*program
	bench.Hold
	json bool
}

func benchHoldVerb(p *program) *cobra.Command {
	b := holdBench{program: p, Hold: bench.Hold{Length: 10 * time.Minute, Every: 30 * time.Second}}
	var rate string
	cmd := &cobra.Command{
		Use:   "hold",
		Short: "Poll at a steady rate, and see whether delay or memory grows",
		Long: `Watch many pages at a steady rate. Every --every, report how late the daemon is,
how far it is behind the rate, and how much memory and disk it uses. At the end,
say whether lateness or memory grew.

BEHIND is how many fewer polls were made than the rate allows. A little is normal:
the budget is a hard limit on the requests in any time window, as the server counts
them, and that costs some of the rate. The shorter the window, the more it costs
(500/s loses more than 30000/m).`,
		Example: "  freshet-lab bench hold\n  freshet-lab bench hold --sources 10000 --rate 500/s --for 10m\n  freshet-lab bench hold --for 1m --every 5s --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if err := cli.WrongFlag("policy", new(config.Settings).SetPolicy(b.Plan.Policy)); err != nil {
				return err
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Plan.Sources, "sources", 10_000, "pages to poll")
	flags.IntVar(&b.Plan.Hosts, "hosts", 50, "number of addresses that serve them")
	flags.IntVar(&b.Plan.Workers, "concurrency", 64, "polls at the same time")
	flags.Float64Var(&b.Plan.Changed, "changed", 0.1, "share of polls that find a new version, 0 to 1")
	flags.StringVar(&rate, "rate", "500/s", "polls to make, such as 500/s")
	flags.StringVar(&b.Plan.Policy, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Var((*cli.Length)(&b.Length), "for", "how long to run")
	flags.Var((*cli.Length)(&b.Every), "every", "time between two reports")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	flags.StringVar(&b.Profile, "cpuprofile", "", "write a CPU profile to this file")
	flags.MarkHidden("cpuprofile")
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run holds the rate, reports, and says whether anything grew.
func (b *holdBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	if !b.json {
		fmt.Fprintf(b.out, "%d sources, %s, for %s, policy %s; %g of polls find a change\n", b.Plan.Sources, cli.Rate(b.Budget), units.FormatDuration(b.Length), b.Plan.Policy, b.Plan.Changed)
		fmt.Fprintln(b.out, " TIME  POLLS/S  BEHIND  FAILED  CAPTURED  MOST LATE  UNDER WAY       RSS  GOROUTINES     STORE  CPU")
	}
	b.Report = b.print
	verdict, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSONLine(b.out, verdict)
	}
	_, err = fmt.Fprintln(b.out, verdictInWords(verdict))
	return err
}

func (b *holdBench) print(r bench.HoldReport) error {
	if b.json {
		return cli.WriteJSONLine(b.out, r)
	}
	_, err := fmt.Fprintf(b.out, "%5s  %7.1f  %6.0f  %6d  %8d  %8.1fms  %9d  %8s  %10d  %8s  %2.0f%%\n", cli.Stopwatch(r.Seconds), r.PerSecond, r.Behind, r.Failed, r.Captured,
		1000*r.MostLate, r.UnderWay, cli.Size(r.RSS), r.Goroutines, cli.Size(r.Store), 100*r.CPU)
	return err
}

// verdictInWords says whether anything grew.
func verdictInWords(v bench.HoldVerdict) string {
	grew := func(yes bool) string {
		if yes {
			return "grew"
		}
		return "did not grow"
	}
	return fmt.Sprintf("lateness %s (%.1fms in the middle third, %.1fms in the last third; %.1f and %.1f polls a second); memory %s (%s and %s)",
		grew(v.LateGrew), 1000*v.MostLate[0], 1000*v.MostLate[1], v.PerSecond[0], v.PerSecond[1],
		grew(v.RSSGrew), cli.Size(v.RSS[0]), cli.Size(v.RSS[1]))
}
