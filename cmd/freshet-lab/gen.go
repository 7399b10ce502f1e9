package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/invalid"
	"freshet/internal/lab/labflag"
	"freshet/internal/research/generate"
)

func genVerb(p *program) *cobra.Command {
	var g generate.Spec
	var start labflag.Moment
	var out string
	cmd := &cobra.Command{
		Use:   "gen --kind KIND",
		Short: "Simulate a history of changes",
		Long: `Simulate a history of changes, and write it as a trace to standard output or to a
file. A file name that ends in .gz is compressed. The same flags always give the
same trace.

  poisson      each page changes at random, at its own rate
  periodic     each page changes once an hour, around its own minute
  bursty       pages are quiet, then change about every minute for a while
  auction      pages get a few bids, and many just before they close
  bidding      auctions fitted to recorded ones: some get many bids, and most
               bids come in the evening
  atis         airport weather reports: two an hour, plus special ones
  vshaped      sites that change almost never or almost always
  normal       sites on which about half of the pages change
  directories  one site with directories whose pages change from once a
               minute to once a day

With vshaped and normal, --pages is the number of pages per site, and a page
changes at most once per cycle. With directories, --sites is the number of
directories, and --pages the number of pages in each. Pages that never change
are not in the trace.`,
		Example: "  freshet-lab gen --kind auction --pages 500 --seed 7 --out auction.csv.gz\n  freshet-lab gen --kind vshaped --sites 20 --pages 100 --out sites.csv",
		Args:    cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.Kind == "" {
				return cli.MissingFlag(cmd, "kind", strings.Join(generate.Kinds, ", or "))
			}
			for _, name := range []string{"pages", "sites"} {
				if n, err := cmd.Flags().GetInt(name); err == nil && n < 1 && cmd.Flags().Changed(name) {
					return cli.Usagef("--%s must be at least 1", name)
				}
			}
			g.Start = start.Time
			return generateTrace(p, g, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&g.Kind, "kind", "", "what to simulate: "+strings.Join(generate.Kinds, ", "))
	flags.IntVar(&g.Pages, "pages", 0, "number of pages, or of pages per site (default: depends on the kind)")
	flags.IntVar(&g.Sites, "sites", 0, "number of sites, for vshaped and normal, or of directories (default: depends on the kind)")
	flags.Uint64Var(&g.Seed, "seed", 1, "random seed")
	flags.Var(&start, "start", "when the trace begins: RFC 3339 or Unix seconds (default: 2026)")
	flags.Var((*cli.Length)(&g.Length), "length", "how long the trace is (default: depends on the kind)")
	flags.Float64Var(&g.PerDay, "per-day", 0, "changes per page and day, for poisson and bursty (default: depends on the kind)")
	flags.Var((*cli.Length)(&g.Jitter), "jitter", "how far regular changes vary, for periodic and atis (default: depends on the kind)")
	flags.Var((*cli.Length)(&g.Cycle), "cycle", "time in which a page changes at most once, for vshaped and normal (default: depends on the kind)")
	flags.StringVar(&out, "out", "", "file to write (default: standard output)")
	return cmd
}

// generateTrace makes up a trace and writes it to a file, or prints it.
func generateTrace(p *program, g generate.Spec, out string) error {
	h, err := generate.New(g)
	if field, ok := invalid.FieldOf(err); ok && field == "kind" {
		return cli.WrongFlag("kind", labflag.Meant(err, g.Kind, generate.Kinds...))
	}
	if err != nil {
		return cli.WrongField(err)
	}
	if out == "" || out == "-" {
		return h.Write(p.out)
	}
	if err := h.WriteFile(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.err, "wrote %s: %s, %d changes\n", out, cli.Counted(len(h.Pages()), "page"), h.Changes())
	return err
}
