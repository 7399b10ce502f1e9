package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"freshet/internal/mask"
)

func importVerb(p *program) *cobra.Command {
	var list client.Import
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import sources from another program or a feed reader",
		Long: `Add the pages of a list: addresses with tags, OPML of a feed reader, jobs of urlwatch or
webchanges (urls.yaml), or what changedetection.io exports (url-watches.json). - means
standard input.

--dry-run shows what each entry would become, what of it cannot be carried over, and what
is wrong. Pages that are watched already stay as they are. If an entry cannot be watched
the others are added, and the exit code is 1. Of more than 1000 entries those that were
added are only counted. A run that is interrupted can be repeated: it adds the rest.`,
		Example: "  freshet import subscriptions.opml --dry-run\n  freshet import ~/.config/urlwatch/urls.yaml --tag urlwatch\n  freshet import - < addresses.txt",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&list.DryRun, "dry-run", false, "only show what would be added")
	cmd.Flags().StringVar(&list.Format, "format", "", "list, opml, urlwatch or changedetection (default by what it looks like)")
	cmd.Flags().StringSliceVar(&list.Tags, "tag", nil, "tag for all that is added; can be repeated")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		text, err := readList(args[0], p.in)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		list.Text = string(text)
		r := importRun{program: p, connection: c, list: list, all: asJSON}
		done, err := r.run(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			if err := p.printJSON(done); err != nil {
				return err
			}
		} else if err := printImported(p, done); err != nil {
			return err
		}
		if done.Wrong > 0 {
			return fmt.Errorf("%s of %d cannot be watched", strconv.Itoa(done.Wrong), r.entries)
		}
		return nil
	})
}

// maxImport is the longest list that is read, in bytes.
const maxImport = 1 << 30

// readList reads a file, or standard input.
func readList(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d MB; bring it in parts", path, maxImport>>20)
	}
	return text, err
}

// An importRun is one run of the verb "import". A list may have a million entries: it is read
// twice, first to know that all of it can be read, and sent in parts.
type importRun struct {
	*program
	*connection
	list client.Import
	all  bool // every entry is printed, however many there are

	entries int
	part    []importer.Entry
	done    client.Imported
	bar     *cli.Progress
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
	format := importer.Format(r.list.Format)
	if format == "" {
		format = importer.Guess(r.list.Text)
	}
	r.done = client.Imported{Format: string(format), DryRun: r.list.DryRun, Items: []client.ImportedItem{}}
	err := importer.Each(format, r.list.Text, func(importer.Entry) error { r.entries++; return ctx.Err() })
	switch {
	case err != nil:
		return r.done, fmt.Errorf("import: %w", err)
	case r.entries == 0:
		return r.done, fmt.Errorf("import: there is no entry in it")
	}
	r.bar = r.progress("importing", r.entries)
	defer r.bar.Done()
	size := 0
	err = importer.Each(format, r.list.Text, func(e importer.Entry) error {
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
	if r.entries > fewEntries && !r.all && became.Result == "added" && len(e.Notes) == 0 {
		return
	}
	item := client.ImportedItem{
		Line: e.Line, Result: became.Result, ID: became.ID, URL: mask.URL(e.Source.URL), Name: e.Source.Name, Tags: e.Source.Tags, Read: e.Source.Read, Notes: e.Notes, Error: became.Error,
	}
	if became.Result == "known" && became.ID == "" {
		item.Notes = append(item.Notes, "it is in the list twice")
	}
	r.done.Items = append(r.done.Items, item)
}

// printImported prints what became of a list.
func printImported(p *program, done client.Imported) error {
	t := display.Table{Head: []string{"LINE", "RESULT", "URL", "NOTES"}}
	for _, i := range done.Items {
		line, notes := "", strings.Join(i.Notes, "; ")
		if i.Line > 0 {
			line = strconv.Itoa(i.Line)
		}
		switch i.Result {
		case "wrong":
			notes = i.Error
		case "known":
			if i.ID != "" {
				notes = "watched as " + string(i.ID)
			}
		}
		result := i.Result
		if done.DryRun && result == "added" {
			result = "new"
		}
		t.Add(display.Plain(line), display.Plain(result), display.Plain(harmless(i.URL)), display.Plain(harmless(notes)))
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
