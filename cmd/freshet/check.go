package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func checkVerb(p *program) *cobra.Command {
	var asJSON, stored bool
	var repair string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration file, and the data if asked to",
		Long: `Check a configuration file and print the settings that serve would work with:
flags, environment, file and defaults taken together. What is printed can be
used as a configuration file; secrets are left out.

All problems of the file are told, each with its line. The exit code is then 1. A
variable with the secret of a webhook that is not set is only a warning here.

With --store the data directory is read through instead: the pages of the
database, the checksum of every row, the chain of checksums over the logs, and
the hash of every version. A daemon may go on meanwhile. What is damaged is told
line by line, and the exit code is then 3.

With --repair what can be saved of a damaged data directory is saved into a new
one, under the ids, numbers and cursors that it had. What was lost is told. The
old directory is not touched, and no daemon may use it.`,
		Example: "  freshet check freshet.yaml\n  FRESHET_BUDGET=10/s freshet check --json\n  freshet check --store --data /var/lib/freshet\n  freshet check --data /var/lib/freshet --repair /var/lib/freshet.new",
		Args:    takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := cmd.Flags().Set("config", args[0]); err != nil {
					return err
				}
			}
			s, err := p.settings(cmd)
			if err != nil {
				return err
			}
			p.sayFile(cmd, s)
			for _, name := range s.MissingSecrets() {
				fmt.Fprintf(p.err, "warning: the variable %s is not set; serve needs the secret of a webhook from it\n", name)
			}
			if stored || repair != "" {
				if err := s.CheckData(); err != nil {
					return err
				}
			}
			if repair != "" {
				return repairStore(cmd.Context(), p, s.Data, repair, asJSON)
			}
			if stored {
				return checkStore(cmd.Context(), p, s.Data, asJSON)
			}
			if asJSON {
				return p.printJSON(s.Plain())
			}
			text, err := s.YAML()
			if err != nil {
				return err
			}
			_, err = p.out.Write(text)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&stored, "store", false, "check all that is stored instead")
	cmd.Flags().StringVar(&repair, "repair", "", "save what can be saved of the data into this new `directory`")
	optionFlags(cmd.Flags(), serveFlags...)
	return cmd
}

// serveFlags are the flags of the options that serve takes, but for those that
// every verb has.
var serveFlags = []string{"listen", "budget", "source-gap", "source-share", "host-delay", "host-share", "allow-cidr", "memory", "reserve", "policy", "log-level", "log-format"}
