package main

import (
	"github.com/spf13/cobra"

	"freshet/internal/freshet"
)

func labVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Compare polling policies on recorded or simulated changes",
		Long: `Try out polling policies on a recorded or simulated history of changes. The lab
replays the history in virtual time with the daemon's own scheduler, and reports
how many changes were captured and how late.

A history (a "trace") is a CSV or CSV.gz file with the header page,time. Each row is
one change of a page; the time is in Unix seconds.

Time is divided into steps called instants, one minute long by default. Polls happen
at the end of an instant. Several changes of a page in one instant count as one. All
pages count as seen when the replay begins.`,
		Example: "  freshet lab gen --kind auction --pages 500 --out auction.csv\n" +
			"  freshet lab compare --trace auction.csv --policy uniform,wic --budget 1,2,4 --html auction.html\n" +
			"  freshet lab limit --trace auction.csv --share 0.3,0.6,0.9",
	}
	return grouped(cmd, labRunVerb(p), labRunsVerb(p), labCancelVerb(p), labReplayVerb(p), labCompareVerb(p), labLimitVerb(p), labGenVerb(p), labExportVerb(p), labPaperVerb(p), labResultsVerb(p), labNoiseVerb(p))
}

// missing complains of flags without which a verb has nothing to do.
func missing(cmd *cobra.Command, flag, example string) error {
	return freshet.WithHint(usagef("%s: --%s is missing", cmd.Name(), flag), "add --"+flag+" "+example)
}

// one returns the only item of what a flag lists.
func one[T any](cmd *cobra.Command, flag, example string, list []T) (item T, err error) {
	switch len(list) {
	case 0:
		return item, missing(cmd, flag, example)
	case 1:
		return list[0], nil
	}
	return item, freshet.WithHint(usagef("%s: --%s takes one value, but %d were given", cmd.Name(), flag, len(list)), "freshet lab compare takes several values")
}
