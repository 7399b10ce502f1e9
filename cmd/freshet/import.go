package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/mask"
)

func importVerb(p *program) *cobra.Command {
	r := importRun{program: p}
	var from, intervals string
	cmd := &cobra.Command{
		Use:   "import FILE|DIR|ZIP",
		Short: "Import sources from another program or a feed reader",
		Long: `Add the pages of a list: addresses with tags, CSV, OPML of a feed reader, bookmarks of a
browser, jobs of urlwatch or webchanges, or an export of changedetection.io (a file, its data
folder or a backup), Distill or Huginn. - means standard input. The format is detected by
the content; nothing is added if it is not known. Receivers of notifications become sinks,
and conditions become queries.

Versions that the other program captured come along with their own times: the snapshots in the data
folder of changedetection.io, those of urlwatch (--history), a WARC file, or the commits of a file in a
git repository (--from git). They are marked as imported, and the learner learns from them.

--dry-run shows what each entry would become, which of its settings cannot be carried over,
and why an entry is skipped. Pages that are watched already stay as they are, and entries
that cannot be watched keep no other from being added. Of more than 1000 entries those
that were added are only counted. A run that is interrupted can be repeated: it adds the
rest.

--json prints {"format", "found", "sources", "skipped", "queries", "sinks"}: how many entries
the file holds, what they became, with "notes" on settings that are not carried over, and
which were skipped, where and why. The exit code is 2 if the format is not known.`,
		Example: "  freshet import subscriptions.opml --dry-run\n  freshet import ~/.config/urlwatch --tag urlwatch\n  freshet import changedetection-backup.zip --intervals ignore\n  freshet import ~/.config/urlwatch --history ~/.cache/urlwatch/cache.db\n  freshet import ~/scraper --from git --file status.json --url https://rail.example/status.json\n  freshet import - < addresses.txt",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "only show what would be added")
	cmd.Flags().StringVar(&from, "from", "", "the format, instead of detecting it: urls, csv, opml, miniflux, bookmarks, urlwatch, webchanges, changedetection, distill, huginn, warc or git")
	cmd.Flags().StringVar(&from, "format", "", "old name of --from")
	_ = cmd.Flags().MarkHidden("format")
	cmd.Flags().StringVar(&intervals, "intervals", "as-levels", "what becomes of the time between two checks: as-levels (capture most changes within it), as-gaps (poll so often) or ignore")
	cmd.Flags().StringVar(&r.snapshots, "history", "", "cache.db of urlwatch, whose snapshots are imported as versions")
	cmd.Flags().StringVar(&r.gitFile, "file", "", "with --from git: path of the file in the repository")
	cmd.Flags().StringVar(&r.gitURL, "url", "", "with --from git: URL of which the file has the responses")
	cmd.Flags().StringSliceVar(&r.tags, "tag", nil, "tag for all that is added; can be repeated")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &r.asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) (err error) {
		r.connection = c
		if err := r.read(args[0], from, intervals); err != nil {
			return err
		}
		if err := r.run(ctx); err != nil {
			return err
		}
		return r.print()
	})
}

// read reads the list and finds out its format.
func (r *importRun) read(path, from, intervals string) (err error) {
	if r.options.Intervals, err = importer.ParseIntervals(intervals); err != nil {
		return usagef("--%w", err)
	}
	if from == "git" {
		return r.readGit(path)
	}
	if r.Format, r.text, r.history, err = readList(path, r.in); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if r.snapshots != "" {
		if r.history, err = importer.UrlwatchHistory(r.snapshots); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	defer func() {
		if err == nil && r.Format == importer.WARC {
			r.history, err = importer.WARCHistory(r.text)
		}
	}()
	if from != "" {
		if r.Format, err = importer.ParseFormat(from); err != nil {
			err = usagef("--from: %w", invalid.ReasonOf(err))
		}
		return err
	}
	if r.Format == "" {
		format, known := importer.Detect(r.text)
		if !known {
			return freshet.WithHint(usagef("import: %w; nothing was added", importer.ErrUnknownFormat), "name the format with --from")
		}
		r.Format = format
	}
	return nil
}

// readGit reads the history of a file in a git repository.
func (r *importRun) readGit(repository string) error {
	if r.gitFile == "" || r.gitURL == "" {
		return usagef("import: --from git needs --file PATH (in the repository) and --url URL (of which it has the responses)")
	}
	r.Format, r.text, r.history = importer.URLs, r.gitURL, importer.GitHistory(repository, r.gitFile)
	return nil
}

// maxImport is the longest list that is read, in bytes.
const maxImport = 1 << 30

// readList reads a file, standard input, a folder or an archive. The last two have a format.
func readList(path string, in io.Reader) (format importer.Format, text string, h importer.History, err error) {
	if path == "-" {
		text, err = readAll(path, in)
		return "", text, nil, err
	}
	if info, err := os.Stat(path); err != nil {
		return "", "", nil, err
	} else if info.IsDir() {
		return readFolder(path, os.DirFS(path))
	}
	if archive, err := zip.OpenReader(path); err == nil { // which is read until the end
		return readFolder(path, archive)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", nil, err
	}
	defer f.Close()
	text, err = readAll(path, f)
	return "", text, nil, err
}

// readAll reads a list to its end.
func readAll(path string, in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d MB; import it in parts", path, maxImport>>20)
	}
	return string(text), err
}

// readFolder reads the data of changedetection.io, or the jobs and the configuration of urlwatch.
func readFolder(path string, folder fs.FS) (format importer.Format, text string, h importer.History, err error) {
	format, text, h, err = importer.ReadFolder(folder)
	if err == nil && text == "" {
		err = usagef("%s: %w; a folder or archive is the data of changedetection.io (url-watches.json, or a watch.json for each page), or has jobs of urlwatch or webchanges in YAML", path, importer.ErrUnknownFormat)
	}
	return format, text, h, err
}

// print prints what became of the list.
func (r *importRun) print() error {
	if r.asJSON {
		return r.printJSON(r.importReport)
	}
	t := display.Table{Head: []string{"AT", "RESULT", "URL", "NOTES"}}
	for _, i := range r.rows {
		t.Add(display.Plain(harmless(strings.TrimPrefix(i.at, "line "))), display.Plain(i.result), display.Plain(harmless(mask.URL(i.url))), display.Plain(harmless(i.notes)))
	}
	for _, q := range r.Queries {
		t.Add(display.Plain("-"), display.Plain("query"), display.Plain(q.ID), display.Plain(harmless(q.When)))
	}
	for _, s := range r.Sinks {
		result := "sink"
		if s.Error != "" {
			result = "no sink"
		}
		t.Add(display.Plain("-"), display.Plain(result), display.Plain(s.Name), display.Plain(harmless(strings.Join(append(s.Notes, s.Error), "; "))))
	}
	if err := t.Write(r.out, r.screen()); err != nil {
		return err
	}
	verb := "added"
	if r.DryRun {
		verb = "would be added"
	}
	if r.Versions > 0 {
		r.remark("%d versions imported, %d that their sources cannot read", r.Versions, r.Unread)
	}
	r.remark("%d %s, %d watched already, %d wrong (%s)", r.Added, verb, r.Known, r.wrong, r.Format)
	if r.wrong > 0 && r.wrong == r.Found {
		return fmt.Errorf("none of %d entries can be watched", r.Found)
	}
	return nil
}

// notifier adds sinks and queries over the API.
type notifier struct{ *connection }

// Sink returns what a sink gets.
func (n notifier) Sink(ctx context.Context, name string) (client.NewSink, bool, error) {
	s, err := n.Sinks.Get(ctx, name)
	if errors.Is(err, freshet.ErrNotFound) {
		return client.NewSink{}, false, nil
	}
	return s.NewSink, err == nil, err
}

// AddSink adds a sink.
func (n notifier) AddSink(ctx context.Context, name string, s client.NewSink) error {
	_, err := n.Sinks.Add(ctx, name, s)
	return err
}

// Follow has a sink get more sources or queries.
func (n notifier) Follow(ctx context.Context, name string, s client.NewSink) error {
	_, err := n.Sinks.Edit(ctx, name, client.Patch{"sources": s.Sources, "queries": s.Queries}, 0)
	return err
}

// AddQuery adds a query, unless it is there.
func (n notifier) AddQuery(ctx context.Context, q client.NewQuery) error {
	_, err := n.Queries.Get(ctx, q.ID)
	if errors.Is(err, freshet.ErrNotFound) {
		_, err = n.Queries.Add(ctx, client.QueryToAdd{NewQuery: q})
	}
	return err
}
