package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/mask"
)

func importVerb(p *program) *cobra.Command {
	var list client.Import
	var from string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE|DIR|ZIP",
		Short: "Import sources from another program or a feed reader",
		Long: `Add the pages of a list: addresses with tags, CSV, OPML of a feed reader, bookmarks of a
browser, jobs of urlwatch or webchanges, or an export of changedetection.io (a file, its data
folder or a backup), Distill or Huginn. - means standard input. The format is detected by
the content; nothing is added if it is not known.

--dry-run shows what each entry would become, which of its settings cannot be carried over,
and why an entry is skipped. Pages that are watched already stay as they are, and entries
that cannot be watched keep no other from being added. Of more than 1000 entries those
that were added are only counted. A run that is interrupted can be repeated: it adds the
rest.

--json prints {"format", "found", "sources", "skipped"}: how many entries the file holds,
what they became, with "notes" on settings that are not carried over, and which were
skipped, where and why. The exit code is 2 if the format is not known.`,
		Example: "  freshet import subscriptions.opml --dry-run\n  freshet import ~/.config/urlwatch/urls.yaml --tag urlwatch\n  freshet import changedetection-backup.zip --intervals ignore\n  freshet import - < addresses.txt",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&list.DryRun, "dry-run", false, "only show what would be added")
	cmd.Flags().StringVar(&from, "from", "", "the format, instead of detecting it: urls, csv, opml, miniflux, bookmarks, urlwatch, webchanges, changedetection, distill or huginn")
	cmd.Flags().StringVar(&from, "format", "", "old name of --from")
	_ = cmd.Flags().MarkHidden("format")
	cmd.Flags().StringVar(&list.Intervals, "intervals", "as-levels", "what becomes of the time between two checks: as-levels (capture most changes within it), as-gaps (poll so often) or ignore")
	cmd.Flags().StringSliceVar(&list.Tags, "tag", nil, "tag for all that is added; can be repeated")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		text, err := readList(args[0], p.in)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		r := importRun{program: p, connection: c, list: list, text: text, all: asJSON}
		if r.format, r.options, err = importFormat(from, list.Intervals, text); err != nil {
			return err
		}
		done, err := r.run(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			r.report.Found, r.report.Added, r.report.Known = r.entries, done.Added, done.Known
			return p.printJSON(r.report)
		}
		if err := printImported(p, done); err != nil {
			return err
		}
		if done.Wrong > 0 && done.Wrong == r.entries {
			return fmt.Errorf("none of %d entries can be watched", r.entries)
		}
		return nil
	})
}

// importFormat returns the format of a list, and how its settings are carried over.
func importFormat(from, intervals, text string) (format importer.Format, o importer.Options, err error) {
	if o.Intervals, err = importer.ParseIntervals(intervals); err != nil {
		return format, o, usagef("--%w", err)
	}
	if from != "" {
		if format, err = importer.ParseFormat(from); err != nil {
			err = usagef("--from: %w", invalid.ReasonOf(err))
		}
		return format, o, err
	}
	format, known := importer.Detect(text)
	if !known {
		return format, o, freshet.WithHint(usagef("import: %w; nothing was added", importer.ErrUnknownFormat), "name the format with --from")
	}
	return format, o, nil
}

// maxImport is the longest list that is read, in bytes.
const maxImport = 1 << 30

// readList reads a file, standard input, or the data folder of changedetection.io.
func readList(path string, in io.Reader) (string, error) {
	if path == "-" {
		return readAll(path, in)
	}
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if info.IsDir() {
		return joinFolder(path, os.DirFS(path))
	}
	if archive, err := zip.OpenReader(path); err == nil {
		defer archive.Close()
		return joinFolder(path, archive)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(path, f)
}

// readAll reads a list to its end.
func readAll(path string, in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d MB; import it in parts", path, maxImport>>20)
	}
	return string(text), err
}

// joinFolder returns the data folder of changedetection.io as one list.
func joinFolder(path string, folder fs.FS) (string, error) {
	text, known, err := importer.JoinWatches(folder)
	if err == nil && !known {
		err = usagef("%s: %w; a folder or archive is the data of changedetection.io, with url-watches.json or a watch.json for each page", path, importer.ErrUnknownFormat)
	}
	return text, err
}

// An importRun is one run of the verb "import". A list may have a million entries: it is read
// twice, first to know that all of it can be read, and sent in parts.
type importRun struct {
	*program
	*connection
	list    client.Import
	text    string
	format  importer.Format
	options importer.Options
	all     bool // every entry is printed, however many there are

	entries int
	part    []importer.Entry
	done    client.Imported
	report  importReport // if all
	bar     *cli.Progress
}

// An importReport is what --json prints.
type importReport struct {
	Format  importer.Format  `json:"format"`
	DryRun  bool             `json:"dry_run,omitempty"`
	Found   int              `json:"found"`
	Added   int              `json:"added"`
	Known   int              `json:"known"`
	Sources []importedSource `json:"sources"`
	Skipped []skippedEntry   `json:"skipped"`
}

// An importedSource is an entry that became a source, or would.
type importedSource struct {
	client.NewSource
	At    string   `json:"at"`
	Notes []string `json:"notes"`
}

// A skippedEntry is an entry that did not become a source.
type skippedEntry struct {
	At   string `json:"at"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// Bounds of a part of a list: sources, and bytes of their definitions. The daemon takes a
// megabyte.
const (
	importPart  = 1000
	importBytes = 700 << 10
)

// fewEntries is how many entries are all printed; of more, those that are not added.
const fewEntries = 1000

func (r *importRun) run(ctx context.Context) (client.Imported, error) {
	r.done = client.Imported{Format: string(r.format), DryRun: r.list.DryRun, Items: []client.ImportedItem{}}
	r.report = importReport{Format: r.format, DryRun: r.list.DryRun, Sources: []importedSource{}, Skipped: []skippedEntry{}}
	err := importer.Each(r.format, r.text, r.options, func(importer.Entry) error { r.entries++; return ctx.Err() })
	if err != nil {
		return r.done, fmt.Errorf("import: %w", err)
	}
	r.bar = r.progress("importing", r.entries)
	defer r.bar.Done()
	size := 0
	err = importer.Each(r.format, r.text, r.options, func(e importer.Entry) error {
		e.Source.Tags = addTags(e.Source.Tags, r.list.Tags)
		definition, err := json.Marshal(e.Source)
		if err != nil {
			return err
		}
		if size+len(definition) > importBytes || len(r.part) == importPart {
			if err := r.send(ctx); err != nil {
				return err
			}
			size = 0
		}
		size += len(definition)
		r.part = append(r.part, e)
		return nil
	})
	if err == nil {
		err = r.send(ctx)
	}
	if err != nil && r.done.Added > 0 && !r.list.DryRun {
		err = freshet.WithHint(err, fmt.Sprintf("%d of %d entries were added; run it again to complete it", r.done.Added, r.entries))
	}
	return r.done, err
}

// addTags returns tags with others that are not among them.
func addTags(tags, others []string) []string {
	for _, t := range others {
		if !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return tags
}

// send has the daemon add a part of the list.
func (r *importRun) send(ctx context.Context) error {
	list := client.SourcesToAdd{DryRun: r.list.DryRun}
	for _, e := range r.part {
		if e.Err == nil {
			list.Sources = append(list.Sources, e.Source)
		}
	}
	var added client.AddedSources
	if len(list.Sources) > 0 {
		var err error
		if added, err = r.Sources.AddMany(ctx, list); err != nil {
			return err
		}
	}
	next := 0
	for _, e := range r.part {
		became := client.AddedSource{Result: "wrong"}
		if e.Err != nil {
			became.Error = e.Err.Error()
		} else {
			became = added.Items[next]
			next++
		}
		r.note(e, became)
	}
	r.bar.Add(len(r.part))
	r.part = r.part[:0]
	return nil
}

// note counts what became of an entry.
func (r *importRun) note(e importer.Entry, became client.AddedSource) {
	switch became.Result {
	case "added":
		r.done.Added++
	case "known":
		r.done.Known++
	default:
		r.done.Wrong++
	}
	if became.Result == "known" && became.ID == "" {
		became.Error = "the list has the same page twice"
	} else if became.Result == "known" {
		became.Error = "watched already as " + string(became.ID)
	}
	if r.all {
		r.addToReport(e, became)
		return
	}
	if r.entries > fewEntries && became.Result == "added" && len(e.Notes) == 0 {
		return
	}
	r.done.Items = append(r.done.Items, client.ImportedItem{
		Line: e.Line, Path: e.Path, Result: became.Result, ID: became.ID, URL: mask.URL(e.Source.URL), Name: e.Source.Name, Notes: e.Notes, Error: became.Error,
	})
}

// addToReport adds an entry to what --json prints.
func (r *importRun) addToReport(e importer.Entry, became client.AddedSource) {
	if became.Result == "added" {
		e.Source.ID = became.ID
		r.report.Sources = append(r.report.Sources, importedSource{NewSource: e.Source, At: e.At(), Notes: append([]string{}, e.Notes...)})
		return
	}
	what := e.Source.URL
	if what == "" {
		what = e.Source.Name
	}
	r.report.Skipped = append(r.report.Skipped, skippedEntry{At: e.At(), What: what, Why: became.Error})
}

// printImported prints what became of a list.
func printImported(p *program, done client.Imported) error {
	t := display.Table{Head: []string{"AT", "RESULT", "URL", "NOTES"}}
	for _, i := range done.Items {
		at, notes := i.Path, i.Error
		if i.Line > 0 {
			at = strconv.Itoa(i.Line)
		}
		if i.Result == "added" {
			notes = strings.Join(i.Notes, "; ")
		}
		result := i.Result
		if done.DryRun && result == "added" {
			result = "new"
		}
		t.Add(display.Plain(harmless(at)), display.Plain(result), display.Plain(harmless(i.URL)), display.Plain(harmless(notes)))
	}
	if err := t.Write(p.out, p.screen()); err != nil {
		return err
	}
	verb := "added"
	if done.DryRun {
		verb = "would be added"
	}
	p.remark("%d %s, %d watched already, %d wrong (%s)", done.Added, verb, done.Known, done.Wrong, done.Format)
	return nil
}
