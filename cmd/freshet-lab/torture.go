//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/cli"
	"freshet/internal/extract"
	"freshet/internal/test/torture"
)

// A tortureRun is one run of the verb "torture".
type tortureRun struct {
	*program
	torture.Config
	freshet freshetFlag
	only    []string
	logs    string // directory
	json    bool
}

// tortureVerbs returns the verb, and those that it starts processes with.
func tortureVerbs(p *program) []*cobra.Command {
	return []*cobra.Command{tortureVerb(p), tortureInsideVerb(), extractVerb(p)}
}

func tortureVerb(p *program) *cobra.Command {
	t := tortureRun{program: p}
	var cluster bool
	var kinds []string
	for _, k := range torture.Kinds {
		kinds = append(kinds, string(k))
	}
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Break a daemon in every way, and check that it keeps its promises",
		Long: `Run a real daemon against a small hostile web, break it in every way known, and check
from outside that every promise of docs/explanation/promises.md holds. --cluster breaks a cluster
on PostgreSQL instead.

What is broken, and in which order, follows from the seed. Without --for, --faults and
--episodes it takes ten minutes. The exit code is 1 if a promise is broken, and 2 if the
campaign itself fails.

Faults of a daemon: ` + strings.Join(kinds, ", ") + `.

Faults of a cluster: ` + strings.Join(torture.ClusterFaults(), ", ") + `.`,
		Example: "  freshet-lab torture --for 10m --workers 2\n  freshet-lab torture --faults 200 --faults-only kill,freeze,power\n  freshet-lab torture --cluster --for 30m --seed 7",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			known := kinds
			if cluster {
				known = torture.ClusterFaults()
			}
			for _, name := range t.only {
				if !slices.Contains(known, name) {
					return cli.Usagef("there is no fault %q; there are %s", name, strings.Join(known, ", "))
				}
			}
			if cluster {
				return t.breakCluster(cmd.Context())
			}
			return t.breakDaemon(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.Var((*cli.Length)(&t.For), "for", "begin no round after this time, such as 10m")
	flags.IntVar(&t.Faults, "faults", 0, "begin no round after so many faults")
	flags.IntVar(&t.Episodes, "episodes", 0, "run at most so many episodes")
	flags.IntVar(&t.Rounds, "rounds", 30, "rounds of an episode")
	flags.IntVar(&t.Workers, "workers", 1, "episodes at once")
	flags.Uint64Var(&t.Seed, "seed", 1, "random seed of the first episode; the next has the next")
	flags.StringVar(&t.Dir, "dir", "", "directory for temporary data")
	t.freshet.register(flags)
	flags.BoolVar(&cluster, "cluster", false, "break a cluster on PostgreSQL instead of a daemon")
	flags.StringVar(&t.logs, "logs", "", "directory in which to keep all that the processes of a cluster log")
	flags.StringSliceVar(&t.only, "faults-only", nil, "kinds of faults, separated by commas")
	cli.JSONFlag(cmd, &t.json)
	return cmd
}

// breakDaemon runs the campaign against single daemons.
func (t *tortureRun) breakDaemon(ctx context.Context) error {
	for _, name := range t.only {
		t.Only = append(t.Only, torture.Kind(name))
	}
	if t.For == 0 && t.Faults == 0 && t.Episodes == 0 {
		t.For = 10 * time.Minute
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	t.Inside = []string{self, "torture-inside"}
	t.Freshet, t.Progress = []string{t.freshet.path()}, t.report
	report, err := torture.Run(ctx, t.Config)
	return t.judge(report, len(report.Violations), err)
}

// breakCluster runs the campaign against a cluster.
func (t *tortureRun) breakCluster(ctx context.Context) error {
	report, err := torture.RunCluster(ctx, torture.ClusterConfig{
		Seed: t.Seed, For: cmp.Or(t.For, 10*time.Minute), Faults: t.Faults, Freshet: t.freshet.path(), Dir: t.Dir, Logs: t.logs,
		Only: t.only, Progress: t.report,
	})
	return t.judge(report, len(report.Violations), err)
}

// report prints a line of progress.
func (t *tortureRun) report(line string) { fmt.Fprintln(t.err, line) }

// judge prints a report. A campaign that failed exits with another code than one that
// found something.
func (t *tortureRun) judge(report interface{ Print(io.Writer) }, violations int, err error) error {
	if t.json {
		if err := cli.WriteJSONLine(t.out, report); err != nil {
			return err
		}
	} else {
		report.Print(t.out)
	}
	switch {
	case err != nil:
		fmt.Fprintln(t.err, "freshet-lab:", err)
		return exitStatus(2)
	case violations > 0:
		return exitStatus(1)
	}
	return nil
}

// tortureInsideVerb is the daemon whose clock and disk obey the campaign.
func tortureInsideVerb() *cobra.Command {
	return &cobra.Command{
		Use:                "torture-inside",
		Short:              "Run a daemon whose clock and disk obey a campaign",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the program itself: %w", err)
			}
			if code := torture.Inside(cmd.Context(), args, []string{self, "extract"}); code != 0 {
				return exitStatus(code)
			}
			return nil
		},
	}
}

// extractVerb is the child process of that daemon that applies selectors.
func extractVerb(p *program) *cobra.Command {
	return &cobra.Command{
		Use:    "extract",
		Short:  "Apply selectors for a daemon, over standard input and output",
		Hidden: true,
		Args:   cli.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return extract.Serve(p.in, p.out, app.ExtractMemory)
		},
	}
}
