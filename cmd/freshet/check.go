package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/sqlite"
)

func checkVerb(p *program) *cobra.Command {
	var asJSON, stored bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration file, and the data if asked to",
		Long: `Check a configuration file and print the settings that serve would work with:
flags, environment, file and defaults taken together. What is printed can be
used as a configuration file; secrets are left out.

All problems of the file are told, each with its line. The exit code is then 1.

With --store the data directory is read through instead: the pages of the
database, the hash of every version and the numbers of every change. A daemon
may go on meanwhile. What is damaged is told, and the exit code is then 3.`,
		Example: "  freshet check freshet.yaml\n  FRESHET_BUDGET=10/s freshet check --json\n  freshet check --store --data /var/lib/freshet",
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
			if stored {
				return checkStore(cmd.Context(), p, s.Data)
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
	optionFlags(cmd.Flags(), serveFlags...)
	return cmd
}

// checkStore reads all that is stored and says whether it is what was written.
func checkStore(ctx context.Context, p *program, dir string) (err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return freshet.WithHint(fmt.Errorf("data directory %s: %w", dir, freshet.ErrNotFound), "name one with --data or FRESHET_DATA")
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Check(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "all that is stored in %s is as it was written\n", dir)
	return err
}

// serveFlags are the flags of the options that serve takes, but for those that
// every verb has.
var serveFlags = []string{"listen", "budget", "host-delay", "allow-cidr", "memory", "policy", "log-level", "log-format"}
