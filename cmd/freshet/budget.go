package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
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
}

const budgetHelp = `Show what the budget brings, from the sources' own history, and what another
would: the share of changes captured and how late, against the polls a day, with
where you stand. The shaded band is for what is not known of the sources' rates.

With --share, --delay or both: the least budget that captures that share, that
has that mean delay, or that captures that share within that time. With --eaters:
which sources take the most, and what they bring. With --drop: what dropping
sources would free, and bring for the others. With --levels: what each service
level takes, what keeps it from being kept, and the max_gap that would keep it.

Sources are taken to change at random, each at the rate learned from its polls,
and polls to go where they are worth most. Sources with a rhythm that the policy
has learned are captured better than this says, and sources that change in bursts
worse: what comes and goes between two polls leaves no trace.`

func budgetVerb(p *program) *cobra.Command {
	b := budgeting{program: p}
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what the budget brings, and what another would",
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
	flags.StringVar(&b.share, "share", "", "what would it cost to capture this share, such as 95%?")
	flags.Var(&b.delay, "delay", "what would this mean delay cost; with --share: that share within this time?")
	flags.StringArrayVar(&b.drop, "drop", nil, "what if this were dropped: an id, tag:T or host:H; can be repeated")
	flags.IntVar(&b.eaters, "eaters", 0, "list so many sources that take the most of the budget")
	flags.BoolVar(&b.levels, "levels", false, "list the service levels and what each takes")
	flags.StringVar(&b.plot, "plot", "", "draw the curve into this SVG file")
	jsonFlag(cmd, &b.json)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error { return b.run(ctx, c) })
}

// run asks, and shows the answer.
func (b *budgeting) run(ctx context.Context, c *connection) error {
	answer, err := c.Budget(ctx, client.BudgetQuery{
		Share: b.share, Delay: time.Duration(b.delay), Drop: b.drop, Eaters: max(0, b.eaters), Levels: b.levels, Points: sketchWidth,
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
