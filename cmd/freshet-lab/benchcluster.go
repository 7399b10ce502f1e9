package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/bench"
)

// A clusterBench is one run of the verb "bench cluster".
type clusterBench struct {
	*program
	bench.Cluster
	freshet freshetFlag
	base    string
	json    bool
}

func benchClusterVerb(p *program) *cobra.Command {
	b := clusterBench{program: p, Cluster: bench.Cluster{Length: 20 * time.Second, Plan: bench.Plan{Policy: policy.Default}}}
	var rate string
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Measure what a poll costs with SQLite, with PostgreSQL, and with several nodes and workers",
		Long: `Start a node with SQLite, a node with PostgreSQL, and a cluster of nodes and workers, each process
as it is in production. All poll the same pages at the same rate and at the same time, so that other load on the
machine affects all of them. Report the CPU time of a poll in microseconds: of the leader, of one standby, of all
workers and of PostgreSQL. The median of the rounds is reported. Versions are indexed for search only with --changed.

With --base, processes of another build of freshet poll beside these.

PostgreSQL has to be installed. Its files are in memory, or in the directory FRESHET_POSTGRES_DIR if that is set;
those of SQLite are in --dir.`,
		Example: "  freshet-lab bench cluster\n  freshet-lab bench cluster --rate 1000/s --rounds 5\n  freshet-lab bench cluster --changed 1 --rate 150/s\n  freshet-lab bench cluster --base /tmp/freshet",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.Budget, err = sched.ParseBudget(rate); err != nil {
				return cli.WrongFlag("rate", invalid.ReasonOf(err))
			}
			if b.Plan.Sources < 1 || b.Plan.Hosts < 1 || b.Nodes < 1 || b.Workers < 0 || b.Rounds < 1 {
				return cli.Usagef("--sources, --hosts, --nodes and --rounds: at least 1 is needed, and of --workers 0")
			}
			if err := cli.WrongFlag("policy", new(config.Settings).SetPolicy(b.Plan.Policy)); err != nil {
				return err
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Plan.Sources, "sources", 1000, "pages to poll")
	flags.IntVar(&b.Plan.Hosts, "hosts", 20, "number of addresses that serve them")
	flags.IntVar(&b.Plan.Workers, "concurrency", 64, "polls at the same time")
	flags.Float64Var(&b.Plan.Changed, "changed", 0, "share of polls that find a new version, 0 to 1")
	flags.StringVar(&rate, "rate", "200/s", "polls to make, such as 200/s")
	flags.StringVar(&b.Plan.Policy, "policy", b.Plan.Policy, "what to poll next")
	flags.IntVar(&b.Nodes, "nodes", 3, "nodes of the cluster")
	flags.IntVar(&b.Cluster.Workers, "workers", 4, "workers of the cluster")
	flags.Var((*cli.Length)(&b.Length), "for", "length of one round")
	flags.IntVar(&b.Rounds, "rounds", 3, "number of rounds")
	flags.StringVar(&b.base, "base", "", "another build of freshet to measure, too")
	flags.StringVar(&b.Plan.Dir, "dir", "", "directory for temporary data")
	b.freshet.register(flags)
	cli.JSONFlag(cmd, &b.json)
	return cmd
}

// run measures and shows the results.
func (b *clusterBench) run(ctx context.Context) (err error) {
	if b.Plan.Server, err = benchServerCommand(); err != nil {
		return err
	}
	if b.base != "" {
		b.Builds = append(b.Builds, bench.Build{Name: "base", Program: b.base})
	}
	b.Builds, b.Say = append(b.Builds, bench.Build{Name: "now", Program: b.freshet.path()}), b.say
	results, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if b.json {
		return cli.WriteJSON(b.out, results)
	}
	t := table{head: "BUILD\tSETUP\tPOLLS/S\tLEADER US\tSTANDBY US\tWORKERS US\tPOSTGRESQL US\tALL US\tTIMES SQLITE\tSTANDBY/LEADER\tLATE MS"}
	for _, r := range results {
		t.add(r.Build, r.Setup, fmt.Sprintf("%.0f", r.PerSecond), microseconds(r.Leader), microseconds(r.Standby), microseconds(r.Workers), microseconds(r.PostgreSQL),
			microseconds(r.All), fmt.Sprintf("%.2f", r.Times), fmt.Sprintf("%.2f", r.Share), fmt.Sprintf("%.1f", 1000*r.Late))
	}
	return t.write(b.out)
}

// microseconds returns a cell; one of a role that nobody has is empty.
func microseconds(us float64) string {
	if us == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", us)
}
