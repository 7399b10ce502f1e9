package main

import "github.com/spf13/cobra"

func learningVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "learning",
		Short: "Show what is learned of when sources change, and add to it",
		Long: `Show what Freshet has learned of when a source changes, import when it changed in the
past, or set a forecast in place of what was learned.`,
	}, rhythmVerb(p), forecastVerb(p), teachVerb(p))
}
