//go:build unix

// Torture breaks a daemon in every way it knows and checks that it keeps its
// promises. See package freshet/torture.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"freshet/internal/app"
	"freshet/internal/extract"
	"freshet/internal/test/torture"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:]))
}

// run returns the exit code: 1 if a promise did not hold.
func run(ctx context.Context, args []string) int {
	self, err := os.Executable()
	if err != nil {
		return complain(err)
	}
	if len(args) > 0 && args[0] == "inside" {
		return torture.Inside(ctx, args[1:], []string{self, "extract"})
	}
	if len(args) > 0 && args[0] == "extract" {
		if err := extract.Serve(os.Stdin, os.Stdout, app.ExtractMemory); err != nil {
			return 1
		}
		return 0
	}
	c := torture.Config{Inside: []string{self, "inside"}}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.DurationVar(&c.For, "for", 0, "begin no round after this time, such as 10m")
	flags.IntVar(&c.Faults, "faults", 0, "begin no round after so many faults")
	flags.IntVar(&c.Episodes, "episodes", 0, "run at most so many episodes")
	flags.IntVar(&c.Rounds, "rounds", 30, "rounds of an episode")
	flags.IntVar(&c.Workers, "workers", 1, "episodes at once")
	flags.Uint64Var(&c.Seed, "seed", 1, "of the first episode; the next has the next")
	flags.StringVar(&c.Dir, "dir", "", "where to keep the data meanwhile")
	freshet := flags.String("freshet", "bin/freshet", "the program to break")
	cluster := flags.Bool("cluster", false, "break a cluster on PostgreSQL instead of a daemon; its faults are "+strings.Join(torture.ClusterFaults(), ", "))
	logs := flags.String("logs", "", "a directory in which to keep all that the processes of a cluster say")
	asJSON := flags.Bool("json", false, "report as JSON")
	only := flags.String("faults-only", "", "kinds of faults, with commas: "+names(torture.Kinds))
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *cluster {
		return breakCluster(ctx, c, *freshet, *only, *logs, *asJSON)
	}
	for _, name := range strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(torture.Kinds, torture.Kind(name)) {
			return complain(fmt.Errorf("there is no fault %q; there are %s", name, names(torture.Kinds)))
		}
		c.Only = append(c.Only, torture.Kind(name))
	}
	if c.For == 0 && c.Faults == 0 && c.Episodes == 0 {
		c.For = 10 * time.Minute
	}
	c.Freshet = []string{*freshet}
	c.Progress = func(line string) { fmt.Fprintln(os.Stderr, line) }
	report, err := torture.Run(ctx, c)
	return tell(report, len(report.Violations), *asJSON, err)
}

// breakCluster is run for a cluster.
func breakCluster(ctx context.Context, c torture.Config, freshet, only, logs string, asJSON bool) int {
	cfg := torture.ClusterConfig{
		Seed: c.Seed, For: cmp.Or(c.For, 10*time.Minute), Faults: c.Faults, Freshet: freshet, Dir: c.Dir, Logs: logs,
		Only:     strings.FieldsFunc(only, func(r rune) bool { return r == ',' }),
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	for _, name := range cfg.Only {
		if !slices.Contains(torture.ClusterFaults(), name) {
			return complain(fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(torture.ClusterFaults(), ", ")))
		}
	}
	report, err := torture.RunCluster(ctx, cfg)
	return tell(report, len(report.Violations), asJSON, err)
}

// tell prints a report, and returns the status to exit with.
func tell(report interface{ Print(io.Writer) }, violations int, asJSON bool, err error) int {
	if asJSON {
		json.NewEncoder(os.Stdout).Encode(report)
	} else {
		report.Print(os.Stdout)
	}
	switch {
	case err != nil:
		return complain(err)
	case violations > 0:
		return 1
	}
	return 0
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "torture:", err)
	return 2
}

// names lists kinds of faults.
func names(kinds []torture.Kind) string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}
