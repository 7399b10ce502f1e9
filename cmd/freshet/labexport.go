package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/lab"
)

func labExportVerb(p *program) *cobra.Command {
	store := storeFlags{}
	var seed uint64
	var out string
	cmd := &cobra.Command{
		Use:   "export --from-store",
		Short: "Write what a daemon has recorded as a trace",
		Long: `Write the history that a daemon has recorded in the data directory as a trace, and
print it or write it to a file; one that ends in .gz is compressed. The daemon may
be at work meanwhile.

A page is called by the host and the id of its source. Each recorded change stands
once, where its source dates it or else somewhere between the two polls that it
fell between; with --hidden those are put in beside it, by chance, that are thought
to have hidden there. What a trace has no room for is left out: sources that did not change,
when sources came and went, and what their changes are worth.`,
		Example: "  freshet lab export --from-store --out mine.csv.gz\n  freshet lab export --from-store --days 30 --place late",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !store.on {
				return freshet.WithHint(usagef("export: --from-store is missing"), "write freshet lab export --from-store: there is nothing else to export")
			}
			dir, err := dataDir(p, cmd)
			if err != nil {
				return err
			}
			return exportTrace(cmd.Context(), p, dir, &store, seed, out)
		},
	}
	flags := cmd.Flags()
	store.register(flags)
	flags.Uint64Var(&seed, "seed", 1, "of what is drawn by chance")
	flags.StringVar(&out, "out", "", "file to write (default: print)")
	return cmd
}

// exportTrace writes what a daemon has recorded as a trace.
func exportTrace(ctx context.Context, p *program, dir string, f *storeFlags, seed uint64, out string) error {
	kept, err := readStore(ctx, p, dir, f, seed)
	if err != nil {
		return err
	}
	h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, at := range kept.History.All() {
			if !yield(pageName(kept.sources[id], id), at.Truncate(time.Millisecond)) {
				return
			}
		}
	})
	if out == "" || out == "-" {
		return h.Write(p.out)
	}
	if err := h.WriteFile(out); err != nil {
		return err
	}
	still := len(kept.History.Pages()) - len(h.Pages())
	_, err = fmt.Fprintf(p.err, "wrote %s: %s, %d changes; about %.0f happened. %s did not change and are not in it\n",
		out, counted(len(h.Pages()), "page"), h.Changes(), kept.Happened, counted(still, "source"))
	return err
}

// pageName returns what a source is called in a trace: what comes before the
// slash is its site, as the lab reads it.
func pageName(s freshet.Source, id freshet.SourceID) freshet.SourceID {
	if host := s.Host(); host != "" {
		return freshet.SourceID(strings.ReplaceAll(host, ":", "_")) + "/" + id
	}
	return id
}
