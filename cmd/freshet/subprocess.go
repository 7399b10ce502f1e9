package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/extract"
	"freshet/internal/fetch/browser"
)

// extractVerb is the child process that applies selectors, where it can be killed.
func extractVerb(p *program) *cobra.Command {
	return &cobra.Command{
		Use:    "extract",
		Short:  "Apply selectors for a daemon, over standard input and output",
		Hidden: true,
		Args:   takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return extract.Serve(p.in, p.out, app.ExtractMemory)
		},
	}
}

// extractor returns the command that starts it.
func extractor() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	return []string{self, "extract"}, nil
}

// launchVerb is the process that becomes a browser, in a network of its own.
func launchVerb(*program) *cobra.Command {
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
