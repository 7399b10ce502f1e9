package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/test/bench"
	"freshet/internal/units"
)

// A pollBench is one run of the verb "bench poll".
type pollBench struct {
	*program
	bench.Poll
	rate string
	json bool
}

func benchPollVerb(p *program) *cobra.Command {
	b := pollBench{program: p, Poll: bench.Poll{Cases: bench.PollCases, Length: 10 * time.Second, Plan: bench.Plan{Policy: "uniform"}}}
	cmd := &cobra.Command{
		Use:   "poll",
		Short: "Measure polls per second and CPU time, next to a bare loop",
		Long: `Poll as fast as the machine allows. Measure polls per second and CPU seconds per
1,000 polls, for five kinds of answers: 304, a 200 with the same body (same), and
bodies of 20 KB that change at every poll (html, json, feed). Report also allocations,
bytes allocated, bytes written to disk and syncs per poll.

For comparison, a bare net/http loop with the same concurrency asks the same
server. It ignores a 304, and hashes the body of a 200 with SHA-256. The two take
turns, so that other load on the machine affects both. Freshet polls each page once
before it is measured, because the bare loop has moved the pages on. A round ends when
search can find all its versions. The median of the rounds is reported.

The policy is uniform, because auto polls a page at most once a second. The cost
of learning from each poll is included.`,
		Example: "  freshet-lab bench poll\n  freshet-lab bench poll --sources 10000 --concurrency 16 --for 5s --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			for _, c := range b.Cases {
				if !slices.Contains(bench.PollCases, c) {
					return cli.WrongFlag("cases", fmt.Errorf("%q is not one of %s", c, strings.Join(bench.PollCases, ", ")))
				}
			}
			b.Budget = bench.Wide
			if b.rate != "0" {
				if b.Budget, err = sched.ParseBudget(b.rate); err != nil {
					return cli.WrongFlag("rate", invalid.ReasonOf(err))
				}
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&b.Cases, "cases", b.Cases, "kinds of answers to measure")
	flags.IntVar(&b.Plan.Sources, "sources", 1000, "pages to poll")
	flags.IntVar(&b.Plan.Hosts, "hosts", 1, "number of addresses that serve them")
	flags.IntVar(&b.Plan.Workers, "concurrency", 64, "polls at the same time")
	flags.Var((*cli.Length)(&b.Length), "for", "length of one round")
	flags.Int64Var(&b.Polls, "polls", 0, "end a round after so many polls, however long it takes; 0 means after --for")
	flags.IntVar(&b.Rounds, "rounds", 3, "number of rounds for each")
	flags.StringVar(&b.rate, "rate", "0", "most polls to make, such as 500/s; 0 means no limit")
	flags.BoolVar(&b.Plan.NoSearch, "no-search", false, "do not index versions for search")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	flags.StringVar(&b.Profile, "cpuprofile", "", "write CPU profiles of the daemon's last rounds to files with this prefix")
	flags.MarkHidden("cpuprofile")
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *pollBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	b.Say = b.say
	results, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSON(b.out, results)
	}
	t := table{head: "ANSWERS\tWHO\tPOLLS/S\tCPU S PER 1,000\tTIMES THE BARE LOOP\tALLOCS\tALLOCATED\tWRITTEN\tSYNCS"}
	for _, r := range results {
		t.add(r.Answers, "bare loop", fmt.Sprintf("%.0f", r.Bare.PerSecond), fmt.Sprintf("%.3f", r.Bare.CPU), "",
			fmt.Sprintf("%.0f", r.Bare.Allocs), units.FormatSize(int64(r.Bare.Allocated)), "", "")
		t.add(r.Answers, "freshet", fmt.Sprintf("%.0f", r.Freshet.PerSecond), fmt.Sprintf("%.3f", r.Freshet.CPU), fmt.Sprintf("%.1f", r.Ratio),
			fmt.Sprintf("%.0f", r.Freshet.Allocs), units.FormatSize(int64(r.Freshet.Allocated)), units.FormatSize(int64(r.Freshet.Written)), fmt.Sprintf("%.3f", r.Freshet.Syncs))
	}
	return t.write(b.out)
}
