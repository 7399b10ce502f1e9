package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/migrate"
)

func moveVerb(p *program) *cobra.Command {
	var from, to, store string
	var dry, replace, undo, asJSON bool
	cmd := &cobra.Command{
		Use:   "move --to STORE",
		Short: "Move all data to PostgreSQL, or back to a file",
		Long: `Move everything that Freshet has stored from a data directory to a PostgreSQL
database, or back: sources, versions, logs, queries, sinks with their pending
deliveries, users, and everything that was learned. IDs, cursors and numbers stay the
same, so clients and streams continue where they were.

Stop the daemon first. The target must be empty. The copy is compared with the
original row by row, and every checksum and the hash of every version is verified.
Then the old store is marked, and serve refuses it and says where the data went.

If a move is interrupted, the old store is as it was, and serve refuses the new one
until the move has been run again.

The file secret.key is not moved: it belongs in the data directory. Keep using that
with --store, or copy the file to the new one. Without it, stored secrets cannot be
read.

--undo lets serve use the old store again, without what was stored in the new one since
the move. Never run daemons on both.`,
		Example: "  freshet cluster move --data /var/lib/freshet --store postgres://freshet@db/freshet\n  freshet cluster move --to postgres://freshet@db/freshet --dry-run\n  freshet cluster move --from postgres://freshet@db/freshet --to /var/lib/freshet.new\n  freshet cluster move --undo --from /var/lib/freshet",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to != "" && store != "" {
				return usagef("move: --to and --store both say where to move the data; use one of them")
			}
			to = cmp.Or(to, store)
			switch {
			case undo && (to != "" || dry || replace):
				return usagef("move: --undo takes only --from, or --data")
			case !undo && to == "":
				return freshet.WithHint(usagef("move: --to is missing"), "name a database, such as --to postgres://freshet@db/freshet, or a data directory")
			case store != "" && !config.IsStore(store):
				return freshet.WithHint(usagef("move: --store: %q is not the URL of a PostgreSQL database", store), "write postgres://USER@HOST:PORT/DATABASE; for a directory use --to")
			}
			if from == "" {
				s, err := p.settings(cmd)
				if err != nil {
					return err
				}
				if err := s.CheckData(); err != nil {
					return err
				}
				if err := s.CheckOwner(); err != nil && !undo {
					return err
				}
				from = s.Data
			}
			if undo {
				return undoMove(cmd.Context(), p, from, asJSON)
			}
			return runMove(cmd.Context(), p, migrate.Config{From: from, To: to, Features: features.All(), DryRun: dry, Replace: replace}, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "`store` to move: a data directory, or the URL of a database (default: the data directory)")
	flags.StringVar(&to, "to", "", "`store` to move it to, which must be empty: a data directory, or the URL of a database")
	flags.StringVar(&store, "store", "", "the same as --to, for a database (`URL`)")
	flags.BoolVar(&dry, "dry-run", false, "say what would be moved, and change nothing")
	flags.BoolVar(&replace, "replace", false, "delete what the target has, if that was moved elsewhere before")
	flags.BoolVar(&undo, "undo", false, "let serve use a store again that was moved")
	return cmd
}

// runMove moves a store, and says what came of it.
func runMove(ctx context.Context, p *program, cfg migrate.Config, asJSON bool) error {
	said := time.Time{}
	cfg.Now = p.now
	cfg.Say = func(g store.Progress) {
		if now := p.now(); now.Sub(said) > 100*time.Millisecond {
			said = now
			sayStep(p)(g)
		}
	}
	moved, err := migrate.Run(ctx, cfg)
	if err == nil && !cfg.DryRun {
		err = release(cfg.To)
	}
	clearStep(p)
	switch {
	case err != nil && ctx.Err() != nil:
		return freshet.WithHint(errors.New("move: it was interrupted"), "run it again to start over, or go on using "+moved.From)
	case errors.Is(err, freshet.ErrStorage) && !cfg.DryRun:
		return freshet.WithHint(err, freshet.HintOf(err)+"; then run the same command again: "+moved.From+" has lost nothing")
	case err != nil:
		return err
	case asJSON:
		return p.printJSON(moved)
	case moved.DryRun:
		for _, t := range moved.Tables {
			if t.Rows > 0 {
				fmt.Fprintf(p.out, "%12d  %s\n", t.Rows, t.Name)
			}
		}
		_, err = fmt.Fprintf(p.out, "%12d  rows would be moved from %s to %s; nothing was changed\n", moved.Rows, moved.From, moved.To)
		return err
	case moved.Resumed:
		fmt.Fprintf(p.out, "the data was in %s already; the move from %s is finished\n", moved.To, moved.From)
	default:
		fmt.Fprintf(p.out, "moved %d rows from %s to %s: all are the same, and %d bodies have the right hash\n", moved.Rows, moved.From, moved.To, moved.Bodies)
	}
	if config.IsStore(cfg.To) {
		p.remark("start the daemon with --store %s, and keep its data directory: secret.key stays there", moved.To)
	} else {
		p.remark("start the daemon with --data %s, and copy secret.key there from the data directory used so far", moved.To)
	}
	return nil
}

// release lets a data directory have a store of its own, although a node on PostgreSQL has used it.
func release(where string) error {
	if config.IsStore(where) {
		return nil
	}
	return config.ForgetStore(where)
}

// undoMove lets a store be used again.
func undoMove(ctx context.Context, p *program, from string, asJSON bool) error {
	other, err := migrate.Undo(ctx, from, features.All())
	if err == nil {
		err = release(from)
	}
	if err != nil {
		return err
	}
	from = migrate.Name(from)
	if asJSON {
		return p.printJSON(map[string]string{"store": from, "other": other})
	}
	_, err = fmt.Fprintf(p.out, "%s can be used again, as it was before the move; do not run a daemon on %s as well\n", from, other)
	return err
}
