package main

import (
	"github.com/spf13/cobra"
)

func benchVerb(p *program) *cobra.Command {
	return group(&cobra.Command{
		Use:   "bench",
		Short: "Measure how fast this machine can poll, and at what cost",
		Long: `Measure a real daemon (scheduler, fetcher, extraction, diff, and a store on disk
that syncs every commit) against a server on loopback. The server is a separate
process, so the CPU time reported is the daemon's alone. "bench brain" measures the deciding alone,
in virtual time.`,
		Example: "  freshet-lab bench poll\n  freshet-lab bench compare --base /tmp/freshet-lab\n  freshet-lab bench cluster\n  freshet-lab bench soak --for 1h\n  freshet-lab bench hostile --share 0.05\n  freshet-lab bench sinks\n  freshet-lab bench lists\n  freshet-lab bench brain",
	}, benchPollVerb(p), benchCompareVerb(p), benchClusterVerb(p), benchSoakVerb(p), benchHostileVerb(p), benchSinksVerb(p), benchListsVerb(p), benchBrainVerb(p))
}
