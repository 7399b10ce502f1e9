package main

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

func importVerb(p *program) *cobra.Command {
	r := importRun{program: p}
	var from, intervals, history, file, url string
	cmd := &cobra.Command{
		Use:   "import FILE|DIR|ZIP|URL",
		Short: "Import sources from another program or a feed reader",
		Long: `Add the pages of a list: addresses with tags, CSV, OPML of a feed reader, bookmarks of a
browser, jobs of urlwatch or webchanges, or an export of changedetection.io (a file, its data
folder or a backup), Distill or Huginn. - means standard input, and the daemon fetches a URL
as it polls: within its budget. The format is detected by the content; nothing is added if it is
not known. Receivers of notifications become sinks,
and conditions become queries.

Versions that the other program captured come along with their own times: the snapshots in the data
folder of changedetection.io, those of urlwatch and webchanges (--history), a WARC file, the TimeMap
of a web archive, or the commits of a file in a git repository (--from git). They are marked as imported, and the learner learns from them.

--dry-run shows what each entry would become, which of its settings cannot be carried over,
and why an entry is skipped. Pages that are watched already stay as they are, and entries
that cannot be watched keep no other from being added. Of more than 1000 entries those
that were added are only counted. A run that is interrupted can be repeated: it adds the
rest.

--json prints {"format", "found", "sources", "skipped", "queries", "sinks"}: how many entries
the file holds, what they became, with "notes" on settings that are not carried over, and
which were skipped, where and why. The exit code is 2 if the format is not known.`,
		Example: "  freshet import subscriptions.opml --dry-run\n  freshet import ~/.config/urlwatch --tag urlwatch\n  freshet import changedetection-backup.zip --intervals ignore\n  freshet import ~/.config/urlwatch --history ~/.cache/urlwatch/cache.db\n  freshet import ~/scraper --from git --file status.json --url https://rail.example/status.json\n  freshet import https://blog.example/blogroll.opml\n  freshet import https://web.archive.org/web/timemap/link/https://rail.example/\n  freshet import - < addresses.txt",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "only show what would be added")
	cmd.Flags().StringVar(&from, "from", "", "the format, instead of detecting it: urls, csv, opml, miniflux, bookmarks, urlwatch, webchanges, changedetection, distill, huginn, warc, timemap or git")
	cmd.Flags().StringVar(&from, "format", "", "old name of --from")
	_ = cmd.Flags().MarkHidden("format")
	cmd.Flags().StringVar(&intervals, "intervals", "as-levels", "what becomes of the time between two checks: as-levels (capture most changes within it), as-gaps (poll so often) or ignore")
	cmd.Flags().StringVar(&history, "history", "", "cache.db of urlwatch or snapshots.db of webchanges, whose snapshots are imported as versions")
	cmd.Flags().StringVar(&file, "file", "", "with --from git: path of the file in the repository")
	cmd.Flags().StringVar(&url, "url", "", "with --from git: URL of which the file has the responses")
	cmd.Flags().StringSliceVar(&r.Tags, "tag", nil, "tag for all that is added; can be repeated")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &r.asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) (err error) {
		r.daemon = c
		if r.Intervals, err = importer.ParseIntervals(intervals); err != nil {
			return usagef("--%w", err)
		}
		if from == "git" {
			r.List, err = gitList(args[0], file, url)
		} else {
			r.List, err = p.readImport(ctx, c, args[0], from, history)
			if r.Archive != nil {
				defer r.Archive.Close()
			}
		}
		if err != nil {
			return err
		}
		return r.run(ctx)
	})
}

// readImport reads a list and finds out its format.
func (p *program) readImport(ctx context.Context, c *connection, path, from, history string) (l importer.List, err error) {
	if scheme, _, _ := strings.Cut(path, "://"); scheme == "http" || scheme == "https" {
		if c.local {
			return l, errNobodyServes
		}
		var d client.Document
		d, err = c.FetchDocument(ctx, path)
		l.Text = string(d.Body)
	} else {
		l, err = readList(path, p.in)
	}
	if err != nil {
		return l, fmt.Errorf("import: %w", err)
	}
	switch known := true; {
	case from != "":
		if l.Format, err = importer.ParseFormat(from); err != nil {
			return l, usagef("--from: %w", invalid.ReasonOf(err))
		}
	case l.Format == "":
		if l.Format, known = importer.Detect(l.Text); !known {
			return l, freshet.WithHint(usagef("import: %w; nothing was added", importer.ErrUnknownFormat), "name the format with --from")
		}
	}
	switch {
	case history != "":
		l.History, err = importer.SnapshotHistory(history)
	case l.Format == importer.WARC:
		if l.Archive == nil {
			l.Archive, err = importer.ReadArchive(strings.NewReader(l.Text), int64(len(l.Text)))
		}
		if err == nil {
			l.History = l.Archive.History
		}
	case l.Format == importer.TimeMap:
		l.History = importer.TimeMapHistory(l.Text, c.FetchDocument)
	}
	if err != nil {
		err = fmt.Errorf("import: %w", err)
	}
	return l, err
}

// gitList returns the history of a file in a git repository, and the URL of which it has the responses.
func gitList(repository, file, url string) (importer.List, error) {
	if file == "" || url == "" {
		return importer.List{}, usagef("import: --from git needs --file PATH (in the repository) and --url URL (of which it has the responses)")
	}
	return importer.List{Format: importer.URLs, Text: url, History: importer.GitHistory(repository, file)}, nil
}

// maxImport is the longest list that is read, in bytes.
const maxImport = 1 << 30

// readList reads a file, standard input, a folder or an archive. The last two and a WARC file have a format.
func readList(path string, in io.Reader) (importer.List, error) {
	if path != "-" {
		info, err := os.Stat(path)
		if err != nil {
			return importer.List{}, err
		}
		if info.IsDir() {
			return readFolder(path, os.DirFS(path))
		}
		if archive, err := zip.OpenReader(path); err == nil { // which is read until the end
			return readFolder(path, archive)
		}
		archive, err := importer.OpenArchive(path)
		if err != nil || archive != nil {
			return importer.List{Format: importer.WARC, Archive: archive}, err
		}
		f, err := os.Open(path)
		if err != nil {
			return importer.List{}, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d MB; import it in parts", path, maxImport>>20)
	}
	return importer.List{Text: string(text)}, err
}

// readFolder reads the data of changedetection.io, or the jobs and the configuration of urlwatch.
func readFolder(path string, folder fs.FS) (importer.List, error) {
	l, err := importer.ReadFolder(folder)
	if err == nil && l.Text == "" {
		err = usagef("%s: %w; a folder or archive is the data of changedetection.io (url-watches.json, or a watch.json for each page), or has jobs of urlwatch or webchanges in YAML", path, importer.ErrUnknownFormat)
	}
	return l, err
}
