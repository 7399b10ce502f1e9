package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// An importRun is one run of the verb "import".
type importRun struct {
	importer.Run
	program *program
	daemon  *connection
	asJSON  bool

	report importReport
	rows   display.Table
}

// An importReport is what --json prints.
type importReport struct {
	importer.Report
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

// fewEntries is how many entries are all printed; of more, those that are not added.
const fewEntries = 1000

// run imports the list and prints what became of it.
func (r *importRun) run(ctx context.Context) (err error) {
	r.report = importReport{Sources: []importedSource{}, Skipped: []skippedEntry{}}
	r.rows.Head = []string{"AT", "RESULT", "URL", "NOTES"}
	bar, found := &cli.Progress{}, 0
	defer func() { bar.Done() }()
	r.Begin = func(n int) { bar, found = r.program.progress("importing", n), n }
	r.Each = func(i importer.Item) {
		bar.Add(1)
		r.note(i, found <= fewEntries)
	}
	r.To, r.AddHistory = r, r.addHistory
	if r.report.Report, err = r.Do(ctx); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	bar.Done()
	return r.print()
}

// note records what became of an entry.
func (r *importRun) note(i importer.Item, few bool) {
	what, why := cmp.Or(i.Source.URL, i.Source.Name), i.Error
	switch {
	case i.Result == "added":
		why = strings.Join(i.Notes, "; ")
	case i.Result == "known" && i.ID != "":
		why = "watched already as " + string(i.ID)
	case i.Result == "known":
		why = "the list has the same page twice"
	}
	switch {
	case r.asJSON && i.Result == "added":
		i.Source.ID = i.ID
		r.report.Sources = append(r.report.Sources, importedSource{NewSource: i.Source, At: i.At(), Notes: append([]string{}, i.Notes...)})
	case r.asJSON:
		r.report.Skipped = append(r.report.Skipped, skippedEntry{At: i.At(), What: what, Why: why})
	case few || i.Result != "added" || len(i.Notes) > 0:
		if r.DryRun && i.Result == "added" {
			i.Result = "new"
		}
		r.row(strings.TrimPrefix(i.At(), "line "), i.Result, mask.URL(what), why)
	}
}

// row adds a row to what is printed.
func (r *importRun) row(cells ...string) {
	row := make([]display.Cell, len(cells))
	for i, c := range cells {
		row[i] = display.Plain(harmless(c))
	}
	r.rows.Add(row...)
}

// print prints what became of the list.
func (r *importRun) print() error {
	if r.asJSON {
		return r.program.printJSON(r.report)
	}
	for _, q := range r.report.Queries {
		r.row("-", "query", q.ID, q.When)
	}
	for _, s := range r.report.Sinks {
		result := "sink"
		if s.Error != "" {
			result = "no sink"
		}
		r.row("-", result, s.Name, strings.Join(slices.DeleteFunc(append(s.Notes, s.Error), func(s string) bool { return s == "" }), "; "))
	}
	if err := r.rows.Write(r.program.out, r.program.screen()); err != nil {
		return err
	}
	verb := "added"
	if r.DryRun {
		verb = "would be added"
	}
	done := r.report
	if done.Versions+done.Unread > 0 {
		r.program.remark("%d versions imported, %d that are missing or their sources cannot read", done.Versions, done.Unread)
	}
	r.program.remark("%d %s, %d watched already, %d wrong (%s)", done.Added, verb, done.Known, done.Wrong, done.Format)
	if done.Wrong > 0 && done.Wrong == done.Found {
		return fmt.Errorf("none of %d entries can be watched", done.Found)
	}
	return nil
}

// Bounds of the versions that are sent at once.
const (
	versionsAtOnce     = 100
	versionBytesAtOnce = 4 << 20
)

// addHistory adds versions to a source, and has it polled from then on if it was paused for that. A source
// that has been polled gets none, and one of an earlier run only newer ones than it has.
func (r *importRun) addHistory(ctx context.Context, e importer.Entry, id freshet.SourceID) (all client.ImportedVersions, err error) {
	s, err := r.daemon.Sources.Get(ctx, id)
	if err != nil || s.Standing.Polls > 0 {
		return all, err
	}
	after := time.Time{}
	if s.Standing.Version > 0 {
		newest, err := r.daemon.Sources.Version(ctx, id, s.Standing.Version)
		if err != nil {
			return all, err
		}
		after = newest.SeenAt
	}
	var part []client.VersionToImport
	size := 0
	send := func() error {
		if len(part) == 0 {
			return nil
		}
		done, err := r.daemon.Sources.ImportVersions(ctx, id, part)
		part, size = part[:0], 0
		all.Added += done.Added
		all.Unread += done.Unread
		return err
	}
	err = r.History(ctx, e, after, func(s importer.Snapshot) error {
		if s.Missing {
			all.Unread++
			return nil
		}
		part = append(part, client.VersionToImport{SeenAt: s.At, Text: s.Text, Body: s.Body, MediaType: s.MediaType, Header: s.Header})
		if size += len(s.Text) + len(s.Body); len(part) < versionsAtOnce && size < versionBytesAtOnce {
			return nil
		}
		return send()
	})
	if err := cmp.Or(err, send()); err != nil {
		return all, err
	}
	if i := slices.Index(s.Tags, importer.Unfinished); i >= 0 {
		_, err = r.daemon.Sources.Edit(ctx, id, client.Patch{"paused": false, "tags": slices.Delete(s.Tags, i, i+1)}, 0)
	}
	return all, err
}

// Add adds sources over the API, as the other methods do with queries and sinks.
func (r *importRun) Add(ctx context.Context, sources []client.NewSource, dryRun bool) ([]client.AddedSource, error) {
	added, err := r.daemon.Sources.AddMany(ctx, client.SourcesToAdd{Sources: sources, DryRun: dryRun})
	return added.Items, err
}

// Sink returns what a sink gets.
func (r *importRun) Sink(ctx context.Context, name string) (client.NewSink, bool, error) {
	s, err := r.daemon.Sinks.Get(ctx, name)
	if errors.Is(err, freshet.ErrNotFound) {
		return client.NewSink{}, false, nil
	}
	return s.NewSink, err == nil, err
}

// AddSink adds a sink, or says why it cannot be added.
func (r *importRun) AddSink(ctx context.Context, name string, s client.NewSink, dryRun bool) (err error) {
	if dryRun {
		_, err = r.daemon.Sinks.Preview(ctx, s)
	} else {
		_, err = r.daemon.Sinks.Add(ctx, name, s)
	}
	return err
}

// Follow has a sink get more sources or queries.
func (r *importRun) Follow(ctx context.Context, name string, s client.NewSink) error {
	_, err := r.daemon.Sinks.Edit(ctx, name, client.Patch{"sources": s.Sources, "queries": s.Queries}, 0)
	return err
}

// AddQuery adds a query, unless it is there.
func (r *importRun) AddQuery(ctx context.Context, q client.NewQuery) error {
	_, err := r.daemon.Queries.Get(ctx, q.ID)
	if errors.Is(err, freshet.ErrNotFound) {
		_, err = r.daemon.Queries.Add(ctx, client.QueryToAdd{NewQuery: q})
	}
	return err
}
