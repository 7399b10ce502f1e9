package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

func labExportVerb(p *program) *cobra.Command {
	store := storeFlags{}
	var seed uint64
	var out string
	cmd := &cobra.Command{
		Use:   "export --from-store",
		Short: "Write the changes that your daemon recorded as a trace",
		Long: `Write the changes in the data directory as a trace, to standard output or to a file.
A file name that ends in .gz is compressed. The daemon can keep running.

Pages are named by the host and the id of their source. A recorded change is dated
by its source if it gives a date, and otherwise placed somewhere between the two
polls around it. --hidden also adds, at random, changes that were probably missed
between two polls. Sources that never changed, when sources were added or removed,
and their weights are not part of a trace.`,
		Example: "  freshet lab export --from-store --out mine.csv.gz\n  freshet lab export --from-store --days 30 --place late",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !store.on {
				return freshet.WithHint(usagef("export: --from-store is required"), "run freshet lab export --from-store")
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
	flags.Uint64Var(&seed, "seed", 1, "random seed")
	flags.StringVar(&out, "out", "", "`file` to write to (default: standard output)")
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
			if !yield(pageName(kept.Sources[id], id), at.Truncate(time.Millisecond)) {
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
	_, err = fmt.Fprintf(p.err, "wrote %s: %s, %d changes; about %.0f happened. Left out: %s that never changed\n",
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
