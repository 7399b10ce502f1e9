package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/backup"
	"freshet/internal/cli"
	"freshet/internal/features"
)

// archiveEnding ends the name of a backup in one file.
const archiveEnding = ".tar.zst"

const backupHelp = `Copy the data directory while the daemon runs, as it is at one moment: sources,
history, users, settings and the key of stored secrets. Keep backups as safe as the
data itself.

  DIR           A directory with backups. Each writes only what no earlier one
                has; one that was interrupted goes on when it is run again.
  FILE.tar.zst  One backup as a tar archive.
  -             The same on standard output.

What is written to DIR is read again and compared. --verify compares everything that is
in DIR or in a file, puts the newest backup together in a temporary directory, and
checks every row and body in it, as freshet check --store does.

With data in PostgreSQL only the files beside it are copied; use pg_dump or
pg_basebackup for the database, and check a restored copy with --verify postgres://...`

func backupVerb(p *program) *cobra.Command {
	var verify bool
	var keep int
	cmd := &cobra.Command{
		Use:     "backup DIR|FILE|-",
		Short:   "Back up the data while the daemon runs",
		Long:    backupHelp,
		Example: "  freshet backup /mnt/backups/freshet\n  freshet backup --keep 30 /mnt/backups/freshet\n  freshet backup --verify /mnt/backups/freshet\n  freshet backup - | ssh backup.example 'cat > freshet.tar.zst'",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "check the backups in DIR or FILE, or a restored database, instead")
	cmd.Flags().IntVar(&keep, "keep", 0, "delete all backups in DIR but the newest `n`; 0 keeps all")
	optionFlags(cmd.Flags(), "store")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to := args[0]
		archive := to == "-" || strings.HasSuffix(to, archiveEnding)
		switch {
		case keep < 0 || keep > 0 && archive:
			return usagef("backup: --keep takes a number of backups in a directory")
		case verify && strings.HasPrefix(to, "postgres"):
			return checkDatabase(cmd.Context(), p, to, false)
		case verify:
			return verifyBackup(cmd.Context(), p, to, archive)
		}
		s, err := p.settings(cmd)
		if err != nil {
			return err
		}
		if err := thereIsData(s.Data); err != nil {
			return err
		}
		if archive {
			return backupToFile(cmd.Context(), p, s, to)
		}
		return backupToDir(cmd.Context(), p, s, to, keep)
	}
	return cmd
}

// backupSource returns what is backed up.
func backupSource(p *program, s config.Settings) *backup.Source {
	if s.Store != "" {
		p.remark("note: sources and history are in PostgreSQL and are not part of this backup; use pg_dump or pg_basebackup for them")
	}
	bar := p.progress("reading", 100)
	shown := 0
	return &backup.Source{
		Data: s.Data, Files: s.Store != "", Features: features.All(), Program: thisBuild().Version, Now: time.Now,
		Say: func(done, of int64) {
			if percent := int(done * 100 / max(of, 1)); percent > shown {
				bar.Add(percent - shown)
				shown = percent
			}
		},
	}
}

// backupToDir adds a backup to a directory.
func backupToDir(ctx context.Context, p *program, s config.Settings, dir string, keep int) (err error) {
	r, err := backup.OpenRepository(dir, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	name, m, err := r.Backup(ctx, backupSource(p, s))
	if err != nil {
		return err
	}
	p.remark("backup %s in %s: %s in %s; %s were new", name, dir, cli.Size(m.Size()), counted(len(m.Files), "file"), cli.Size(r.Written))
	if keep > 0 {
		n, err := r.Forget(keep)
		if err != nil {
			return err
		}
		if n > 0 {
			p.remark("deleted %s", counted(n, "older backup"))
		}
	}
	return nil
}

// backupToFile writes a backup as one file, whole or not at all.
func backupToFile(ctx context.Context, p *program, s config.Settings, path string) error {
	if path == "-" {
		_, err := backupSource(p, s).Archive(ctx, p.out)
		return err
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	m, err := backupSource(p, s).Archive(ctx, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	p.remark("backup of %s in %s", cli.Size(m.Size()), path)
	return nil
}

// verifyBackup checks backups, and restores the newest to a temporary directory.
func verifyBackup(ctx context.Context, p *program, path string, archive bool) (err error) {
	var done backup.Restored
	what := ""
	if archive {
		err = withArchive(p, path, func(from io.Reader) error {
			done, err = backup.DrillArchive(ctx, from, features.All(), sayStep(p))
			return err
		})
	} else {
		var r *backup.Repository
		if r, err = backup.OpenRepository(path, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		chunks := 0
		if chunks, err = r.Verify(ctx); err == nil {
			done, err = r.Drill(ctx, features.All(), sayStep(p))
		}
		what = fmt.Sprintf("%s are as they were written; ", counted(chunks, "chunk"))
	}
	clearStep(p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "no damage found in %s: %sthe backup of %s has %d rows and %d bodies\n", path, what, done.Begun.Format("2006-01-02 15:04:05Z"), done.Rows, done.Bodies)
	return err
}

// withArchive opens a backup that is one file.
func withArchive(p *program, path string, read func(io.Reader) error) error {
	if path == "-" {
		return read(p.in)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(read(f), f.Close())
}

const restoreHelp = `Put a backup into the data directory. The daemon must not run. The backup is read
completely and every row and body in it is checked; only then files are replaced. What
was there is kept in a directory replaced-TIME within the data directory.

From a directory the newest backup is restored, or the one that --from-time names.
Changes that the backup had not delivered yet are delivered again, with the same ids.`

func restoreVerb(p *program) *cobra.Command {
	var replace bool
	var name string
	cmd := &cobra.Command{
		Use:     "restore DIR|FILE|-",
		Short:   "Put a backup back",
		Long:    restoreHelp,
		Example: "  freshet backup restore /mnt/backups/freshet --data /var/lib/freshet\n  freshet backup restore freshet.tar.zst --replace",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the data that is there, which is kept beside it")
	cmd.Flags().StringVar(&name, "from-time", "", "`name` of the backup in DIR, such as 20261119T050102.000Z (default: the newest)")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		s, err := p.settings(cmd)
		if err != nil {
			return err
		}
		r := backup.Restore{Data: s.Data, Replace: replace, Features: features.All(), Now: time.Now, Say: sayStep(p)}
		var done backup.Restored
		if args[0] == "-" || strings.HasSuffix(args[0], archiveEnding) {
			err = withArchive(p, args[0], func(from io.Reader) error {
				done, err = r.FromArchive(cmd.Context(), from)
				return err
			})
		} else {
			var from *backup.Repository
			if from, err = backup.OpenRepository(args[0], false); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, from.Close()) }()
			done, err = r.FromRepository(cmd.Context(), from, name)
		}
		clearStep(p)
		if err != nil {
			return err
		}
		if done.Kept != "" {
			p.remark("what was there before is in %s; delete it when it is no longer needed", done.Kept)
		}
		_, err = fmt.Fprintf(p.out, "restored the backup of %s to %s: %d rows and %d bodies are as they were written\n", done.Begun.Format("2006-01-02 15:04:05Z"), s.Data, done.Rows, done.Bodies)
		return err
	}
	return cmd
}
