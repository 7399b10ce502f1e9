package main

import (
	"github.com/spf13/cobra"
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
pages count as seen when the replay begins.

The command freshet-lab simulates histories, computes what any policy could capture,
and repeats the experiments of the papers behind Freshet.`,
		Example: "  freshet lab compare --from-store --policy auto,uniform,frequency --days 14\n" +
			"  freshet lab compare --trace auction.csv --policy uniform,wic --budget 1,2,4 --html auction.html",
	}
	return grouped(cmd, labRunVerb(p), labRunsVerb(p), labCancelVerb(p), labReplayVerb(p), labCompareVerb(p), labExportVerb(p))
}
