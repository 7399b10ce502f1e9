package main

import (
	"context"
	"fmt"
	"strconv"

	"freshet/client"
	"freshet/internal/cli/display"
)

// runDivergence shows how far copies of a value were from their pages.
func (n *numbering) runDivergence(ctx context.Context, c *connection) error {
	if n.by != "" || n.calibration {
		return usagef("numbers: --divergence goes without --by and --calibration")
	}
	in, err := n.seen.read(n.program)
	if err != nil {
		return err
	}
	answer, err := c.Divergence(ctx, client.DivergenceQuery{Field: n.divergence, Relative: n.relative, In: in, Tag: n.tag, Host: n.host, Limit: n.limit})
	if err != nil {
		return err
	}
	if n.json {
		return n.printJSON(answer)
	}
	if answer.Sources == 0 {
		fmt.Fprintf(n.out, "No source has the value %s. Extract it: freshet edit SOURCE --extract %s='css .price | number'\n", harmless(n.divergence), harmless(n.divergence))
		return nil
	}
	size := rough
	if n.relative {
		size = percent
	}
	paint := n.screen()
	fmt.Fprintln(n.out, paint.Prose(fmt.Sprintf("A copy of %s was off by %s on average (%s to %s). Values that came and went between two polls are not seen.",
		harmless(n.divergence), size(answer.All.Mean.Mean), size(answer.All.Mean.Low), size(answer.All.Mean.High)), "  "))
	t := display.Table{Head: []string{"SOURCE", "OFF BY", "BETWEEN", "CHANGES", "WATCHED"}, Short: map[string]int{"SOURCE": 16}, Drop: []string{"WATCHED", "BETWEEN"}}
	for _, d := range answer.Items {
		t.Add(display.Plain(harmless(string(d.Source))), display.Plain(size(d.Mean.Mean)), display.Plain(size(d.Mean.Low)+" to "+size(d.Mean.High)),
			display.Plain(strconv.Itoa(d.Changes)), display.Plain(late(d.Watched)))
	}
	if err := t.Write(n.out, paint); err != nil {
		return err
	}
	if left := answer.Sources - len(answer.Items); left > 0 {
		fmt.Fprintf(n.out, "%d more are nearer; --limit shows them\n", left)
	}
	return nil
}
