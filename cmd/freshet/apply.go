package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// An application is one run of the verb "apply".
type application struct {
	*program
	*connection
	file  config.Settings
	prune bool
	yes   bool
	dry   bool
	json  bool
	plan  applyPlan

	queries map[freshet.QueryID]bool // that there are when the plan is carried out
}

func applyVerb(p *program) *cobra.Command {
	v := application{program: p}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Make a running daemon have what a file lists",
		Long: `Put the sources, queries, sinks, webhooks and settings of a configuration file into a
running daemon, here or at --server. The file is written as for freshet serve. What is
missing is added, what differs is changed, and the rest is left alone: a second run
changes nothing. Sources without an id are recognised by URL, selector and request.
A FILE of - is read from standard input.

The whole file is checked first. If anything in it is wrong, or the daemon would refuse
it because its own configuration file says otherwise, nothing is applied. What only the
daemon's own file can say, such as listen or requests, is named with its line and left out.
Levels, strategies and shares are settings: each list replaces that of the daemon.

--prune also removes sources, queries and sinks that the file does not list, whoever
added them, except those of the daemon's own file. The history of sources is kept; the
matches of queries and what waits for sinks are deleted. It asks for --yes.

If a request fails, what was done and what was not is listed; run it again to complete
it. A secret of a sink is sent again only when something else of the sink differs.`,
		Example: "  freshet apply watch.yaml --dry-run\n" +
			"  freshet apply watch.yaml\n" +
			"  freshet apply watch.yaml --prune --yes\n" +
			"  generate-sources | freshet apply -\n" +
			"  freshet apply watch.yaml --server https://freshet.example --token-file token",
		Args: takes(1, 1),
	}
	flags := cmd.Flags()
	flags.BoolVar(&v.dry, "dry-run", false, "only show what would be done")
	flags.BoolVar(&v.prune, "prune", false, "remove what the file does not list")
	flags.BoolVar(&v.yes, "yes", false, "remove without asking; for --prune")
	optionFlags(flags, "allow-cidr")
	jsonFlag(cmd, &v.json)
	cmd = clientVerb(p, cmd, false, v.run)
	connected := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := v.read(cmd, args[0]); err != nil {
			return err
		}
		return connected(cmd, args)
	}
	return cmd
}

// read reads the file, before anybody is asked anything.
func (v *application) read(cmd *cobra.Command, path string) (err error) {
	in := config.Input{File: path, Env: v.env, Flag: func(name string) (string, bool) {
		f := cmd.Flag(name)
		if f == nil || !f.Changed {
			return "", false
		}
		return f.Value.String(), true
	}}
	if path == "-" {
		in.File, in.Text = "standard input", v.in
	}
	v.file, err = config.LoadToApply(in)
	return err
}

func (v *application) run(ctx context.Context, c *connection, _ []string) error {
	if c.local {
		return errNobodyServes
	}
	v.connection = c
	if err := v.makePlan(ctx); err != nil {
		return err
	}
	err := v.permitted()
	if err == nil && !v.dry {
		err = v.carryOut(ctx)
	}
	return errors.Join(v.show(), err)
}

// permitted says why the plan cannot be carried out, if so.
func (v *application) permitted() error {
	switch n := v.plan.count(); {
	case n[refuse] > 0:
		return fmt.Errorf("nothing was applied: the daemon would refuse %d of the file", n[refuse])
	case n[remove] > 0 && !v.yes && !v.dry:
		return freshet.WithHint(fmt.Errorf("nothing was applied: %d would be removed", n[remove]), "repeat it with --yes to remove them, or without --prune to keep them")
	}
	return nil
}

// carryOut does what is planned, in order, up to the first failure. What was done so far
// stays: the next run finds it there.
func (v *application) carryOut(ctx context.Context) error {
	for i := range v.plan.Items {
		item := &v.plan.Items[i]
		if item.do == nil {
			continue
		}
		if err := item.do(ctx); err != nil {
			item.Error = err.Error()
			v.remark("run it again to complete it")
			return fmt.Errorf("%s %s %s: %w", item.Action, item.Kind, item.Name, err)
		}
		item.Done = true
	}
	return nil
}
