package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
)

func doctorVerb(p *program) *cobra.Command {
	var asJSON bool
	var page string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a daemon needs of this machine",
		Long: `Check what a daemon with these settings needs of this machine: a data directory of its
own, room on the disk, open files, memory, its port, a valid certificate, names, the
network, the clock, a browser that shows a page, and PostgreSQL with its settings. What is
wrong is shown with what to do, and the exit code is 1. Nothing is changed. freshet status
tells of a daemon at work.

Names, the network and the clock are checked with one request for --url; an empty one makes none.`,
		Example: "  freshet doctor\n  freshet doctor --config /etc/freshet/freshet.yaml --data /var/lib/freshet\n  freshet doctor --url https://intranet.example/ --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.settings(cmd)
			if err != nil {
				return err
			}
			if err := s.CheckData(); err != nil {
				return err
			}
			found := app.Examine(cmd.Context(), s, page, time.Now)
			if asJSON {
				err = p.printJSON(found)
			} else {
				printFindings(p, found)
			}
			if err == nil && slices.ContainsFunc(found, func(f app.Finding) bool { return !f.OK }) {
				err = errNotWell
			}
			return err
		},
	}
	cmd.Flags().StringVar(&page, "url", "https://example.com/", "a page that this machine can reach")
	jsonFlag(cmd, &asJSON)
	optionFlags(cmd.Flags(), "store", "listen", "tls-cert", "tls-key", "reserve")
	return cmd
}

func printFindings(p *program, found []app.Finding) {
	s := p.screen()
	for _, f := range found {
		state := s.Green("ok   ")
		if !f.OK {
			state = s.Red("wrong")
		}
		fmt.Fprintf(p.out, "%s  %-15s %s\n", state, f.Subject, harmless(f.Text))
		if f.Hint != "" {
			fmt.Fprintf(p.out, "       hint: %s\n", harmless(f.Hint))
		}
	}
}
