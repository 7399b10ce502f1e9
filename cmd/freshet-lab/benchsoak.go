package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
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

// A soakBench is one run of the verb "bench soak".
type soakBench struct {
	*program
	bench.Soak
	freshet freshetFlag
	json    bool
	csv     *csv.Writer // nil if there is no file for it
}

func benchSoakVerb(p *program) *cobra.Command {
	b := soakBench{program: p, Soak: bench.Soak{Length: time.Hour, Every: 10 * time.Second}}
	var rate, file string
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run a busy daemon for hours, and see whether anything grows",
		Long: `Start a daemon as a separate process and keep it busy: many pages at a steady
rate, a webhook, a change stream, edits and pruning. Sample it from outside:
memory, heap, files, goroutines, disk, lateness and CPU.

At the end, fit a line to each measurement (without the first quarter) and say
whether it is flat. The exit code is 1 if one is not.`,
		Example: "  freshet-lab bench soak\n  freshet-lab bench soak --for 3m --every 5s --csv soak.csv",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if err := cli.WrongFlag("policy", new(config.Settings).SetPolicy(b.Plan.Policy)); err != nil {
				return err
			}
			return b.run(cmd.Context(), file)
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
	flags.Var((*cli.Length)(&b.Every), "every", "time between two samples")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	flags.StringVar(&file, "csv", "", "write the samples to this file")
	b.freshet.register(flags)
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run soaks, reports and judges.
func (b *soakBench) run(ctx context.Context, file string) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	b.Daemon = []string{b.freshet.path()}
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return fmt.Errorf("write the samples: %w", err)
		}
		defer f.Close()
		b.csv = csv.NewWriter(f)
		b.csv.Write(strings.Fields("seconds polls polls_per_second failed captured most_late_seconds rss_bytes heap_bytes files goroutines store_bytes wal_bytes store_bytes_per_poll cpu_share deliveries_owed delivered streamed"))
	}
	if !b.json {
		fmt.Fprintf(b.out, "%d sources, %s, for %s, policy %s; %g of polls find a change\n", b.Plan.Sources, cli.Rate(b.Budget), units.FormatDuration(b.Length), b.Plan.Policy, b.Plan.Changed)
		fmt.Fprintln(b.out, " TIME  POLLS/S  FAILED  MOST LATE       RSS      HEAP  FILES  GOROUTINES     STORE       WAL  A POLL  CPU  OWED  DELIVERED  STREAMED")
	}
	b.Report = b.print
	verdict, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if err := b.judge(verdict); err != nil {
		return err
	}
	if !verdict.Flat {
		return fmt.Errorf("some measurements are not flat; the lines marked GROWS say which")
	}
	return nil
}

// print prints a sample.
func (b *soakBench) print(s bench.SoakSample) error {
	if b.csv != nil {
		b.csv.Write(soakRow(s))
		b.csv.Flush()
		if err := b.csv.Error(); err != nil {
			return fmt.Errorf("write the samples: %w", err)
		}
	}
	if b.json {
		return cli.WriteJSONLine(b.out, s)
	}
	_, err := fmt.Fprintf(b.out, "%5s  %7.1f  %6d  %8.1fms  %8s  %8s  %5d  %10d  %8s  %8s  %6.0f  %2.0f%%  %4d  %9d  %8d\n", cli.Stopwatch(s.Seconds), s.PerSecond, s.Failed, 1000*s.MostLate,
		cli.Size(s.RSS), cli.Size(s.Heap), s.Files, s.Goroutines, cli.Size(s.Store), cli.Size(s.WAL), s.PerPoll, 100*s.CPUShare, s.Owed, s.Delivered, s.Streamed)
	return err
}

// soakRow is a sample as a line of the file.
func soakRow(s bench.SoakSample) []string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
	whole := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{
		number(s.Seconds), whole(s.Polls), number(s.PerSecond), whole(s.Failed), whole(s.Captured), number(s.MostLate), whole(s.RSS), whole(s.Heap),
		strconv.Itoa(s.Files), strconv.Itoa(s.Goroutines), whole(s.Store), whole(s.WAL), number(s.PerPoll), number(s.CPUShare), strconv.Itoa(s.Owed), whole(s.Delivered), whole(s.Streamed),
	}
}

// judge prints what moved and what did not.
func (b *soakBench) judge(v bench.SoakVerdict) error {
	if b.json {
		return json.NewEncoder(b.out).Encode(v)
	}
	for _, t := range v.Trends {
		said := "flat"
		if !t.Flat {
			said = "GROWS"
		}
		if _, err := fmt.Fprintf(b.out, "%-24s %-5s  mean %.4g, %+.4g an hour, %+.1f%% in all (%.0f%% allowed), scatter %.3g\n", t.Name, said, t.Mean, t.PerHour, 100*t.Change, 100*t.Allowed, t.Noise); err != nil {
			return err
		}
	}
	return nil
}
