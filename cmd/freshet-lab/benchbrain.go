package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/test/bench"
)

// A brainBench is one run of the verb "bench brain".
type brainBench struct {
	*program
	bench.Brain
	json bool
}

func benchBrainVerb(p *program) *cobra.Command {
	b := brainBench{program: p, Brain: bench.Brain{Length: 30 * time.Second}}
	var rates string
	cmd := &cobra.Command{
		Use:   "brain",
		Short: "Measure what it costs to decide what to poll, without polling",
		Long: `Run the scheduler, the policy auto and the learner of a daemon over sources that are
made up, in virtual time, without network or store: first each source is polled once,
then polls go on for --for.

BYTES is the memory a source takes, and PEAK the most memory that the program held, also
while it got ready, with what was not collected yet. CPU is the microseconds of CPU time
that a poll takes to be decided and learnt from, and LONGEST the most CPU time between
two moments at which the loop listens: polls that end meanwhile wait so long. READY is
the CPU time to get ready. With --notes, what was learnt is taken down once meanwhile, as
a daemon does every five minutes to save it, of so many sources at a time. With several
rates, the last line says how many times as much a poll costs at the last as at the
first.

A million sources take 1.3 GB, and up to twice as much with what is not collected yet.
GOGC=25 in the environment has the program use less memory and more CPU time.`,
		Example: "  freshet-lab bench brain\n  freshet-lab bench brain --sources 1000000 --rate 1000/s\n  freshet-lab bench brain --sources 1000000 --rate 600000/m --notes 1000\n  freshet-lab bench brain --rate 600000/m --for 1m --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for text := range strings.SplitSeq(rates, ",") {
				rate, err := sched.ParseBudget(text)
				if err != nil {
					return cli.WrongFlag("rate", invalid.ReasonOf(err))
				}
				b.Rates = append(b.Rates, rate)
			}
			if b.Sources < 1 || b.PerHost < 1 {
				return cli.Usagef("--sources and --per-host: at least 1 is needed")
			}
			if b.PerDir < 0 {
				return cli.Usagef("--per-directory: at least 0 is needed")
			}
			if b.Notes < 0 {
				return cli.Usagef("--notes: at least 0 is needed")
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Sources, "sources", 100_000, "number of sources")
	flags.IntVar(&b.PerHost, "per-host", 20, "number of sources of one host")
	flags.IntVar(&b.PerDir, "per-directory", 0, "number of sources of one directory; 0 puts all of a host in one")
	flags.StringVar(&rates, "rate", "60000/m,600000/m", "polls to make, such as 1000/s; several are measured in turn")
	flags.IntVar(&b.Notes, "notes", 0, "sources to take down at a time; a daemon does 1000; 0 takes none")
	flags.Var((*cli.Length)(&b.Length), "for", "how long to poll, in virtual time")
	flags.StringVar(&b.Profile, "cpuprofile", "", "write a CPU profile to this file")
	flags.MarkHidden("cpuprofile")
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *brainBench) run(ctx context.Context) error {
	b.Say = b.say
	results, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSON(b.out, results)
	}
	t := table{head: "SOURCES\tRATE/S\tPOLLS/S\tCPU US\tPOLLS/S/CORE\tLONGEST MS\tBYTES\tPEAK MB\tREADY S"}
	for _, r := range results {
		t.add(r.Sources, fmt.Sprintf("%.0f", r.Rate), fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.1f", r.CPU),
			fmt.Sprintf("%.0f", r.Most), fmt.Sprintf("%.1f", 1000*r.Longest), fmt.Sprintf("%.0f", r.Bytes), fmt.Sprintf("%.0f", r.Peak/1e6), fmt.Sprintf("%.1f", r.Setup))
	}
	if err := t.write(b.out); err != nil {
		return err
	}
	if first, last := results[0], results[len(results)-1]; len(results) > 1 && first.CPU > 0 {
		fmt.Fprintf(b.out, "a poll at %.0f/s costs %.2f times as much as one at %.0f/s\n", last.Rate, last.CPU/first.CPU, first.Rate)
	}
	return nil
}
