package main

import (
	"github.com/spf13/cobra"

	"freshet"
	"freshet/spell"
)

func labVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Try policies on recorded or generated histories of change",
		Long: `Replay a trace of changes under a policy and a budget, in virtual time and with
the scheduler of the daemon, and score what was captured, by one who knows the
truth. A trace is CSV or CSV.gz with the header page,time and the time in Unix
seconds.

Time is cut into instants. A poll happens at the end of an instant and sees the
change of that instant without delay; the changes of a page in one instant count
as one. All pages of the trace take part, and count as seen when it begins.`,
		Example: "  freshet lab gen --kind auction --pages 500 --out auction.csv\n" +
			"  freshet lab compare --trace auction.csv --policy uniform,wic --budget 1,2,4 --html auction.html\n" +
			"  freshet lab limit --trace auction.csv --share 0.3,0.6,0.9",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var known []string
			for _, c := range cmd.Commands() {
				known = append(known, c.Name())
			}
			wrong := usagef("lab: unknown verb %q", args[0])
			if n := spell.Nearest(args[0], known); n != "" {
				return freshet.WithHint(wrong, "did you mean freshet lab "+n+"?")
			}
			return freshet.WithHint(wrong, "freshet lab --help lists the verbs")
		},
	}
	cmd.AddCommand(labReplayVerb(p), labCompareVerb(p), labLimitVerb(p), labGenVerb(p), labExportVerb(p), labPaperVerb(p), labResultsVerb(p))
	return cmd
}

// missing complains of flags without which a verb has nothing to do.
func missing(cmd *cobra.Command, flag, example string) error {
	return freshet.WithHint(usagef("%s: --%s is missing", cmd.Name(), flag), "write --"+flag+" "+example)
}

// one returns the only item of what a flag lists.
func one[T any](cmd *cobra.Command, flag, example string, list []T) (item T, err error) {
	switch len(list) {
	case 0:
		return item, missing(cmd, flag, example)
	case 1:
		return list[0], nil
	}
	return item, freshet.WithHint(usagef("%s: --%s is there %d times", cmd.Name(), flag, len(list)), "freshet lab compare takes several")
}
