package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
)

// A budgeting is one run of the verb "budget".
type budgeting struct {
	*program
	share  string
	delay  lengthFlag
	drop   []string
	eaters int
	levels bool
	plot   string
	json   bool

	verbose bool
}

const budgetHelp = `Show what your budget brings and what to do about it: which pages use most of it,
what share of changes is captured, and what a larger or smaller budget would
capture. The shaded band in the chart is where the share may be.

--share, --delay or both ask what a goal costs: to capture that share, to be that
late on average, or to capture that share within that time. --eaters lists the
sources that use most. --drop says what removing sources would free. --levels
lists the service levels, whether each is kept, and if not, why.

All of it is estimated from polls. Where it is too early to say, it says so.
--verbose shows the details. docs/budget.md says how it is worked out.`

func budgetVerb(p *program) *cobra.Command {
	b := budgeting{program: p}
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what the budget brings, and what another would bring",
		Long:  budgetHelp,
		Example: "  freshet budget\n" +
			"  freshet budget --share 95%\n" +
			"  freshet budget --share 90% --delay 10m\n" +
			"  freshet budget --eaters 20 --drop tag:archive --drop host:slow.example\n" +
			"  freshet budget --levels\n" +
			"  freshet budget --plot budget.svg",
		Args: takes(0, 0),
	}
	flags := cmd.Flags()
	flags.StringVar(&b.share, "share", "", "say what it costs to capture this share, such as 95%")
	flags.Var(&b.delay, "delay", "say what this mean delay costs; with --share: that share within this time")
	flags.StringArrayVar(&b.drop, "drop", nil, "say what removing this would free: an id, tag:T or host:H; repeatable")
	flags.IntVar(&b.eaters, "eaters", 0, "list this many sources that use most of the budget")
	flags.BoolVar(&b.levels, "levels", false, "list the service levels, and why one is not kept")
	flags.StringVar(&b.plot, "plot", "", "draw the curve into this SVG file")
	jsonFlag(cmd, &b.json)
	verboseFlag(cmd, &b.verbose)
	return apiVerb(p, cmd, app.Learning, func(ctx context.Context, c *connection, _ []string) error { return b.run(ctx, c) })
}

// run asks, and shows the answer.
func (b *budgeting) run(ctx context.Context, c *connection) error {
	eaters := max(0, b.eaters)
	if !b.json {
		eaters = max(eaters, manyEaters)
	}
	answer, err := c.Budget(ctx, client.BudgetQuery{
		Share: b.share, Delay: time.Duration(b.delay), Drop: b.drop, Eaters: eaters, Levels: b.levels, Points: sketchWidth,
	})
	if err != nil {
		return err
	}
	if b.plot != "" {
		if err := (&pictureFlags{svg: b.plot}).write(budgetPicture(answer)); err != nil {
			return err
		}
	}
	if b.json {
		return b.printJSON(answer)
	}
	return b.show(answer)
}
