package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/bench"
)

// A listsBench is one run of the verb "bench lists".
type listsBench struct {
	*program
	bench.Lists
	freshet freshetFlag
	json    bool
}

func benchListsVerb(p *program) *cobra.Command {
	b := listsBench{program: p, Lists: bench.Lists{Length: time.Minute, Plan: bench.Plan{Policy: policy.Default, Workers: 64, Changed: 0.1}}}
	var rate string
	cmd := &cobra.Command{
		Use:   "lists",
		Short: "Measure how fast the lists of the API are while polls go on",
		Long: `Store many sources and versions, start a daemon over them as a separate process,
and ask for what the page asks for while the daemon polls: the list of sources in each
order and filtered, scrolled to random places, the counts, the overview, the newest
changes and polls. Beside each is the bare SQL query for the same rows, asked of the
same file in the same moments, and how many times as long the list takes.

Storing a million versions takes minutes. With --keep the store stays for the next
run, which adds its polls to it.`,
		Example: "  freshet-lab bench lists\n  freshet-lab bench lists --sources 10000 --versions 50000 --for 20s\n  freshet-lab bench lists --keep /var/tmp/lists\n  freshet-lab bench lists --json",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if b.Plan.Sources < 1 || b.Plan.Hosts < 1 {
				return cli.Usagef("--sources and --hosts: at least 1 is needed")
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Plan.Sources, "sources", 100_000, "number of sources")
	flags.IntVar(&b.Versions, "versions", 1_000_000, "number of versions of all sources together")
	flags.IntVar(&b.Plan.Hosts, "hosts", 200, "addresses over which the sources are spread")
	flags.StringVar(&rate, "rate", "200/s", "polls to make meanwhile")
	flags.Var((*cli.Length)(&b.Length), "for", "how long to ask")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	flags.StringVar(&b.Keep, "keep", "", "directory for the store, to be used again by the next run (default: it is removed)")
	b.freshet.register(flags)
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *listsBench) run(ctx context.Context) (err error) {
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
	t := table{head: "LIST\tASKED\tKB\tP50 MS\tP95 MS\tMOST MS\tSQL P50 MS\tTIMES"}
	ms := func(v float64) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", v)
	}
	for _, l := range r.Lists {
		t.add(l.Name, l.Asked, fmt.Sprintf("%.0f", float64(l.Bytes)/1000), ms(l.P50), ms(l.P95), ms(l.Most), ms(l.SQL), ms(l.Ratio))
	}
	if err := t.write(b.out); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d sources, %d versions, %.0f polls a second of which %d failed; load of the machine %.1f\n", r.Sources, r.Versions, r.Rate, r.Failed, r.Load)
	fmt.Fprintf(b.out, "95th percentile of all lists %.1f ms; the first list after the start took %.0f ms; the daemon was up in %.1f s and takes %s (heap %s)\n",
		r.P95, r.First, r.Start, cli.Size(r.RSS), cli.Size(r.Heap))
	return nil
}
