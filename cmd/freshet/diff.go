package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func diffVerb(p *program) *cobra.Command {
	var asJSON, sides, visual bool
	var out string
	cmd := &cobra.Command{
		Use:   "diff SOURCE [FROM] [TO]",
		Short: "Show what changed between two versions",
		Long: `Show what changed between two versions of a source. Without FROM and TO, compare
the newest version with the one before it; with FROM alone, compare it with the
newest. "freshet history SOURCE" lists the version numbers.

In a terminal, changed words are highlighted, and long lines are cut to the
sentences that changed. In a pipe you get a plain unified diff.

--visual compares the screenshots of the versions instead, and writes the new one
with everything that changed marked in red.`,
		Example: "  freshet diff news\n  freshet diff news 3 7\n  freshet diff --side-by-side news\n  freshet diff --json news\n  freshet diff --visual shop --out changed.png",
		Args:    takes(1, 3),
	}
	cmd.Flags().BoolVar(&sides, "side-by-side", false, "show the old text on the left and the new text on the right")
	cmd.Flags().BoolVar(&visual, "visual", false, "compare the screenshots, pixel by pixel; needs --out")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write the marked screenshot to; - means standard output")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		var between [2]int // zero means that the API chooses
		for i, arg := range args[1:] {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 {
				return usagef("diff: %q is not a version number; freshet history lists them", arg)
			}
			between[i] = n
		}
		if visual != (out != "") || out == "-" && asJSON {
			return usagef("diff: --visual and --out FILE.png go together")
		}
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		if visual {
			return p.diffPictures(ctx, c, s.ID, between, out, asJSON)
		}
		d, err := c.Diff(ctx, s.ID, between[0], between[1])
		if err != nil {
			return err
		}
		if !asJSON {
			printFieldChanges(p, d.Fields)
		}
		switch {
		case asJSON:
			return p.printJSON(d)
		case sides:
			newDiffView(p).sides(d)
		default:
			newDiffView(p).unified(d)
		}
		return nil
	}), 1)
}
