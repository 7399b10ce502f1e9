package main

import (
	"github.com/spf13/cobra"
)

func benchVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast this machine can poll, and at what cost",
		Long: `Measure a real daemon (scheduler, fetcher, extraction, diff, and a store on disk
that syncs every commit) against a server on loopback. The server is a separate
process, so the CPU time reported is the daemon's alone. "bench brain" measures the deciding alone,
in virtual time.`,
		Example: "  freshet bench poll\n  freshet bench hold --for 10m\n  freshet bench soak --for 1h\n  freshet bench hostile --share 0.05\n  freshet bench sinks\n  freshet bench lists\n  freshet bench brain",
		Args:    takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(benchPollVerb(p), benchHoldVerb(p), benchSoakVerb(p), benchHostileVerb(p), benchSinksVerb(p), benchListsVerb(p), benchBrainVerb(p))
	return cmd
}
