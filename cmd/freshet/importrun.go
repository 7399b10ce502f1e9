package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// An importRun is one run of the verb "import". A list may have a million entries: it is read
// twice, first to know that all of it can be read, and sent in parts.
type importRun struct {
	*program
	*connection
	text    string
	tags    []string
	options importer.Options
	dryRun  bool
	asJSON  bool

	history         importer.History // nil if there is none
	snapshots       string           // file with it
	gitFile, gitURL string

	importReport
	wrong int
	rows  []importedRow
	part  []importer.Entry
	plan  *importer.Plan
	bar   *cli.Progress

	resume map[string]bool // entries that are paused until their history is there
}

// An importReport is what --json prints.
type importReport struct {
	Format importer.Format `json:"format"`
	DryRun bool            `json:"dry_run,omitempty"`
	Found  int             `json:"found"`
	Added  int             `json:"added"`
	Known  int             `json:"known"`

	Versions int `json:"versions,omitempty"` // of the history
	Unread   int `json:"unread,omitempty"`   // versions that the settings of their source cannot read

	Sources []importedSource     `json:"sources"`
	Skipped []skippedEntry       `json:"skipped"`
	Queries []client.NewQuery    `json:"queries"`
	Sinks   []importer.NamedSink `json:"sinks"`
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

// An importedRow is an entry as it is printed.
type importedRow struct{ at, result, url, notes string }

// Bounds of a part of a list: sources, and bytes of their definitions. The daemon takes a
// megabyte.
const (
	importPart  = 1000
	importBytes = 700 << 10
)

// fewEntries is how many entries are all printed; of more, those that are not added.
const fewEntries = 1000

func (r *importRun) run(ctx context.Context) error {
	r.DryRun, r.Sources, r.Skipped, r.Queries = r.dryRun, []importedSource{}, []skippedEntry{}, []client.NewQuery{}
	r.plan, r.resume = importer.NewPlan(r.Format, r.tags), map[string]bool{}
	err := importer.Each(r.Format, r.text, r.options, func(e importer.Entry) error {
		if !e.IsReceiver() {
			r.Found++
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	r.bar = r.progress("importing", r.Found)
	defer r.bar.Done()
	if err = r.addAll(ctx); err == nil {
		err = r.notify(ctx)
	}
	if err != nil && r.Added > 0 && !r.dryRun {
		err = freshet.WithHint(err, fmt.Sprintf("%d of %d entries were added; run it again to complete it", r.Added, r.Found))
	}
	return err
}

// addAll adds the sources, part by part.
func (r *importRun) addAll(ctx context.Context) error {
	size := 0
	err := importer.Each(r.Format, r.text, r.options, func(e importer.Entry) error {
		if e.IsReceiver() {
			r.plan.Add(e, "", false)
			return nil
		}
		for _, tag := range r.tags {
			if !slices.Contains(e.Source.Tags, tag) {
				e.Source.Tags = append(e.Source.Tags, tag)
			}
		}
		if r.history != nil && e.Err == nil && !e.Source.Paused { // until its history is there
			e.Source.Paused, r.resume[e.At()] = true, true
		}
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
	return err
}

// send has the daemon add a part of the list.
func (r *importRun) send(ctx context.Context) error {
	list := client.SourcesToAdd{DryRun: r.dryRun}
	for _, e := range r.part {
		if e.Err == nil {
			list.Sources = append(list.Sources, e.Source)
		}
	}
	var added client.AddedSources
	if len(list.Sources) > 0 {
		var err error
		if added, err = r.connection.Sources.AddMany(ctx, list); err != nil {
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
		if err := r.addHistory(ctx, e, became); err != nil {
			return err
		}
		r.note(e, became)
	}
	r.bar.Add(len(r.part))
	r.part = r.part[:0]
	return nil
}

// note records what became of an entry.
func (r *importRun) note(e importer.Entry, became client.AddedSource) {
	if r.resume[e.At()] {
		e.Source.Paused = false
	}
	row := importedRow{at: e.At(), result: became.Result, url: cmp.Or(e.Source.URL, e.Source.Name), notes: became.Error}
	switch became.Result {
	case "added":
		r.Added++
		row.notes = strings.Join(e.Notes, "; ")
	case "known":
		r.Known++
		row.notes = "the list has the same page twice"
		if became.ID != "" {
			row.notes = "watched already as " + string(became.ID)
		}
	default:
		r.wrong++
	}
	if became.Result != "wrong" && (became.ID != "" || r.dryRun) {
		r.plan.Add(e, cmp.Or(became.ID, freshet.SourceID(e.At())), became.Result == "added")
	}
	switch {
	case r.asJSON && became.Result == "added":
		e.Source.ID = became.ID
		r.Sources = append(r.Sources, importedSource{NewSource: e.Source, At: e.At(), Notes: append([]string{}, e.Notes...)})
	case r.asJSON:
		r.Skipped = append(r.Skipped, skippedEntry{At: row.at, What: row.url, Why: row.notes})
	case r.Found <= fewEntries || became.Result != "added" || len(e.Notes) > 0:
		if r.dryRun && row.result == "added" {
			row.result = "new"
		}
		r.rows = append(r.rows, row)
	}
}

// notify adds the queries and sinks that the list asks for.
func (r *importRun) notify(ctx context.Context) (err error) {
	r.Queries = append(r.Queries, r.plan.Queries()...)
	if r.Sinks = r.plan.Sinks(); !r.dryRun {
		r.Sinks, err = r.plan.Carry(ctx, notifier{r.connection})
	}
	if r.Sinks == nil {
		r.Sinks = []importer.NamedSink{}
	}
	for i := range r.Sinks {
		s := &r.Sinks[i]
		if scheme, _, ok := strings.Cut(s.URL, "://"); ok {
			s.URL = scheme + "://" + mask.Placeholder
		}
		for name := range s.Settings {
			s.Settings[name] = mask.Placeholder
		}
	}
	return err
}

// addHistory adds the versions of an entry, and has its source polled from then on. A source that has
// been polled gets none.
func (r *importRun) addHistory(ctx context.Context, e importer.Entry, became client.AddedSource) error {
	if r.history == nil || r.dryRun || became.ID == "" {
		return nil
	}
	s, err := r.connection.Sources.Get(ctx, became.ID)
	if err != nil || s.Standing.Polls > 0 {
		return err
	}
	snapshots, err := r.history(ctx, e)
	if err != nil {
		return fmt.Errorf("history of %s: %w", became.ID, err)
	}
	for part := range slices.Chunk(snapshots, 20) {
		versions := make([]client.VersionToImport, len(part))
		for i, one := range part {
			versions[i] = client.VersionToImport{SeenAt: one.At, Text: one.Text, Body: one.Body, MediaType: one.MediaType}
		}
		done, err := r.connection.Sources.ImportVersions(ctx, became.ID, versions)
		if err != nil {
			return fmt.Errorf("history of %s: %w", became.ID, err)
		}
		r.Versions += done.Added
		r.Unread += done.Unread
	}
	if !r.resume[e.At()] {
		return nil
	}
	_, err = r.connection.Sources.Edit(ctx, became.ID, client.Patch{"paused": false}, 0)
	return err
}
