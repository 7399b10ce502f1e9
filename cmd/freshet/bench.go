package main

import (
	"github.com/spf13/cobra"
)

func benchVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure on this machine what polling costs and how much it bears",
		Long: `Measure a real daemon (scheduler, fetcher, extraction, diff, and a store on disk
that syncs every commit) against a server on loopback. The server is another
process, so that CPU time is that of the daemon alone.`,
		Example: "  freshet bench poll\n  freshet bench hold --for 10m\n  freshet bench soak --for 1h",
		Args:    takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(benchPollVerb(p), benchHoldVerb(p), benchSoakVerb(p))
	return cmd
}
