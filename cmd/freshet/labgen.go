package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/lab"
)

func labGenVerb(p *program) *cobra.Command {
	var g lab.Generation
	var start momentFlag
	var out string
	cmd := &cobra.Command{
		Use:   "gen --kind KIND",
		Short: "Make up a trace of changes",
		Long: `Make up a trace from a seed, and print it or write it to a file; one that ends in
.gz is compressed. The same flags always make the same trace.

  poisson   pages change at random, each at a rate of its own
  periodic  pages change around a minute of the hour of their own
  bursty    pages are quiet, and then change every minute or so for a while
  auction   pages are bid on a few times, and hurriedly at their end
  atis      weather reports of airports: two an hour, and special ones
  vshaped   sites that change hardly at all or nearly all the time
  normal    sites of which about half of the pages change, more or less

The last two are sets of sites: --pages is then for each site, and a page changes
at most once in a cycle. A page that never changes is not in the trace.`,
		Example: "  freshet lab gen --kind auction --pages 500 --seed 7 --out auction.csv.gz\n  freshet lab gen --kind vshaped --sites 20 --pages 100 --out sites.csv",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.Kind == "" {
				return missing(cmd, "kind", strings.Join(lab.Generators, ", or "))
			}
			for _, name := range []string{"pages", "sites"} {
				if n, err := cmd.Flags().GetInt(name); err == nil && n < 1 && cmd.Flags().Changed(name) {
					return usagef("--%s: it takes at least one", name)
				}
			}
			g.Start = start.Time
			return generateTrace(p, g, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&g.Kind, "kind", "", "what to make up: "+strings.Join(lab.Generators, ", "))
	flags.IntVar(&g.Pages, "pages", 0, "how many; of sites, how many each (default: as the kind has it)")
	flags.IntVar(&g.Sites, "sites", 0, "how many, of vshaped and normal (default: as the kind has it)")
	flags.Uint64Var(&g.Seed, "seed", 1, "of what is drawn by chance")
	flags.Var(&start, "start", "when it begins: RFC 3339 or Unix seconds (default: 2026)")
	flags.Var((*lengthFlag)(&g.Length), "length", "how long it lasts (default: as the kind has it)")
	flags.Float64Var(&g.PerDay, "per-day", 0, "changes of a page a day, of poisson and bursty (default: as the kind has it)")
	flags.Var((*lengthFlag)(&g.Jitter), "jitter", "how far regular changes stray, of periodic and atis (default: as the kind has it)")
	flags.Var((*lengthFlag)(&g.Cycle), "cycle", "in which a page changes at most once, of vshaped and normal (default: as the kind has it)")
	flags.StringVar(&out, "out", "", "file to write (default: print)")
	return cmd
}

// generateTrace makes up a trace and writes it to a file, or prints it.
func generateTrace(p *program, g lab.Generation, out string) error {
	h, err := lab.Generate(g)
	if field, ok := freshet.FieldOf(err); ok && field == "kind" {
		return wrongFlag("kind", meant(err, g.Kind, lab.Generators...))
	}
	if err != nil {
		return flagFault(err)
	}
	if out == "" || out == "-" {
		return h.Write(p.out)
	}
	if err := h.WriteFile(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.err, "wrote %s: %s, %d changes\n", out, counted(len(h.Pages()), "page"), h.Changes())
	return err
}
