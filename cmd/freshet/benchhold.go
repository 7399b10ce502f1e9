package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/bench"
	"freshet/config"
	"freshet/policy"
	"freshet/sched"
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
		Short: "Poll many sources at a steady rate for long, and see whether anything grows",
		Long: `Watch many pages at a steady rate, and report now and then how late the daemon
is, how far it has fallen behind the rate, and what memory and disk it takes. At
the end it says whether lateness or memory grew.

Behind is how many polls fewer were made than the rate allows since the clock
started. A budget is a hard ceiling: at most so many requests in any stretch of
time, as the server counts. That alone costs a little of the rate, the more the
shorter the stretch (30000/m loses less than 500/s).`,
		Example: "  freshet bench hold\n  freshet bench hold --sources 10000 --rate 500/s --for 10m\n  freshet bench hold --for 1m --every 5s --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return wrongFlag("rate", freshet.ReasonOf(err))
			}
			if err := wrongFlag("policy", new(config.Settings).SetPolicy(b.Plan.Policy)); err != nil {
				return err
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Plan.Sources, "sources", 10_000, "pages to poll")
	flags.IntVar(&b.Plan.Hosts, "hosts", 50, "addresses over which they are spread")
	flags.IntVar(&b.Plan.Workers, "concurrency", 64, "polls at once")
	flags.Float64Var(&b.Plan.Changed, "changed", 0.1, "share of polls that find a new version")
	flags.StringVar(&rate, "rate", "500/s", "polls to make")
	flags.StringVar(&b.Plan.Policy, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Var((*lengthFlag)(&b.Length), "for", "how long")
	flags.Var((*lengthFlag)(&b.Every), "every", "time between two reports")
	flags.StringVar(&b.Plan.Dir, "dir", "", "where to keep the data meanwhile")
	flags.StringVar(&b.Profile, "cpuprofile", "", "write a profile to this file")
	flags.MarkHidden("cpuprofile")
	jsonFlag(cmd, &b.json)
	return cmd
}

// run holds the rate, reports, and says whether anything grew.
func (b *holdBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	if !b.json {
		fmt.Fprintf(b.out, "%d sources, %s, for %s, policy %s; a share of %g changed\n", b.Plan.Sources, rate(b.Budget), freshet.FormatDuration(b.Length), b.Plan.Policy, b.Plan.Changed)
		fmt.Fprintln(b.out, " TIME  POLLS/S  BEHIND  FAILED  CAPTURED  MOST LATE  UNDER WAY       RSS  GOROUTINES     STORE  CPU")
	}
	b.Report = b.print
	verdict, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return b.printLine(verdict)
	}
	_, err = fmt.Fprintln(b.out, verdictInWords(verdict))
	return err
}

func (b *holdBench) print(r bench.HoldReport) error {
	if b.json {
		return b.printLine(r)
	}
	_, err := fmt.Fprintf(b.out, "%5s  %7.1f  %6.0f  %6d  %8d  %8.1fms  %9d  %8s  %10d  %8s  %2.0f%%\n", stopwatch(r.Seconds), r.PerSecond, r.Behind, r.Failed, r.Captured,
		1000*r.MostLate, r.UnderWay, roughSize(r.RSS), r.Goroutines, roughSize(r.Store), 100*r.CPU)
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
	return fmt.Sprintf("lateness %s (%.1fms in the middle third, %.1fms in the last; %.1f and %.1f polls a second); memory %s (%s and %s)",
		grew(v.LateGrew), 1000*v.MostLate[0], 1000*v.MostLate[1], v.PerSecond[0], v.PerSecond[1],
		grew(v.RSSGrew), roughSize(v.RSS[0]), roughSize(v.RSS[1]))
}
