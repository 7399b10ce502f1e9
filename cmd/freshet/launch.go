package main

import (
	"os"

	"github.com/spf13/cobra"

	"freshet/internal/fetch/browser"
)

// launchVerb is the process that becomes a browser, in a network of its own.
func launchVerb() *cobra.Command {
	return &cobra.Command{
		Use:                "launch",
		Short:              "Start a browser for a daemon, in a network of its own",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return browser.Launch(args) },
	}
}

// launcher returns the command that starts it; none if the program cannot be found.
func launcher() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "launch"}
}
