package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/app/importer"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
)

// importAPI adds what other programs watch: sources, and the queries and sinks that they have.
type importAPI struct {
	*sourceAPI
	queries *queryAPI
}

func (a *importAPI) routes() {
	a.routeVersions()
	rest.Route(a.Server, huma.Operation{
		OperationID: "import", Method: http.MethodPost, Path: "/api/v1/import", Tags: []string{"sources"},
		Summary: "Import a list of pages from another program",
		Description: "Knows lists of addresses, CSV, OPML, bookmarks of browsers, jobs of urlwatch and webchanges, and exports of changedetection.io, Distill and Huginn. " +
			"Receivers of notifications become sinks, and conditions become queries. An entry that cannot be watched keeps no other from being added. With dry_run nothing is added.",
	}, a.importSources)
}

func (a *importAPI) importSources(ctx context.Context, in *rest.Body[client.Import]) (*rest.Body[client.Imported], error) {
	format, options, err := formatOf(in.Body)
	if err != nil {
		return nil, err
	}
	entries, err := importer.Read(format, in.Body.Text, options)
	if err != nil {
		return nil, rest.Invalid("body.text", err.Error(), nil)
	}
	if len(entries) == 0 {
		return nil, rest.Invalid("body.text", "there is no entry in it", nil)
	}
	plan := importer.NewPlan(format, in.Body.Tags)
	entries = slices.DeleteFunc(entries, func(e importer.Entry) bool {
		if e.IsReceiver() {
			plan.Add(e, "", false)
		}
		return e.IsReceiver()
	})
	list := make([]candidate, len(entries))
	for i, e := range entries {
		if e.Err != nil {
			list[i].err = e.Err
			continue
		}
		entries[i].Source.Tags = merge(e.Source.Tags, in.Body.Tags)
		list[i] = a.candidate(entries[i].Source)
	}
	if err := a.addAll(ctx, list, in.Body.DryRun, map[string]any{"format": format}); err != nil {
		return nil, err
	}
	done := client.Imported{Format: string(format), DryRun: in.Body.DryRun, Items: []client.ImportedItem{}}
	for i, e := range entries {
		item := importedItem(e, list[i])
		switch item.Result {
		case "added":
			done.Added++
		case "known":
			done.Known++
		default:
			done.Wrong++
		}
		done.Items = append(done.Items, item)
		if list[i].err == nil && (item.ID != "" || in.Body.DryRun) {
			plan.Add(e, cmp.Or(item.ID, freshet.SourceID(e.At())), item.Result == "added")
		}
	}
	for _, q := range plan.Queries() {
		done.Queries = append(done.Queries, q.ID)
	}
	sinks := plan.Sinks()
	if !in.Body.DryRun {
		if sinks, err = plan.Carry(ctx, importNotifier{a.queries}); err != nil {
			return nil, err
		}
	}
	for _, s := range sinks {
		done.Sinks = append(done.Sinks, client.ImportedSink{Name: s.Name, Notes: s.Notes, Error: s.Error})
	}
	return rest.Reply(done), nil
}

// formatOf returns the format of a list, and how its settings are carried over.
func formatOf(list client.Import) (format importer.Format, o importer.Options, err error) {
	if o.Intervals, err = importer.ParseIntervals(list.Intervals); err != nil {
		return format, o, rest.Invalid("body.intervals", err.Error(), nil)
	}
	if list.Format != "" {
		if format, err = importer.ParseFormat(list.Format); err != nil {
			err = rest.Invalid("body.format", err.Error(), nil)
		}
		return format, o, err
	}
	format, known := importer.Detect(list.Text)
	if !known {
		return format, o, rest.Invalid("body.text", importer.ErrUnknownFormat.Error()+"; name it in format", nil)
	}
	return format, o, nil
}

// importedItem returns the result of an entry.
func importedItem(e importer.Entry, c candidate) client.ImportedItem {
	item := client.ImportedItem{
		Line: e.Line, Path: e.Path, Result: c.result, ID: c.id, URL: mask.URL(e.Source.URL), Name: e.Source.Name, Tags: e.Source.Tags, Read: e.Source.Read, Notes: e.Notes,
	}
	if c.err != nil {
		item.Error = c.err.Error()
	}
	if c.duplicate {
		item.Notes = append(item.Notes, "it is in the list twice")
	}
	return item
}

// merge returns the union of tags and others.
func merge(tags, others []string) []string {
	tags = slices.Clone(tags)
	for _, t := range others {
		if !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return tags
}

// importNotifier adds the sinks and queries of a list.
type importNotifier struct{ *queryAPI }

// Sink returns what a sink gets.
func (n importNotifier) Sink(ctx context.Context, name string) (client.NewSink, bool, error) {
	if n.sinks == nil {
		return client.NewSink{}, false, errNoSinks()
	}
	st, err := n.sinks.Get(ctx, name)
	if errors.Is(err, freshet.ErrNotFound) {
		return client.NewSink{}, false, nil
	}
	return newSinkOf(st.Sink), err == nil, err
}

// AddSink adds a sink.
func (n importNotifier) AddSink(ctx context.Context, name string, s client.NewSink) error {
	return n.sinks.Put(ctx, sinkFrom(name, s), 0, true)
}

// Follow has a sink get more sources or queries.
func (n importNotifier) Follow(ctx context.Context, name string, s client.NewSink) error {
	st, err := n.sinks.Get(ctx, name)
	if err != nil {
		return err
	}
	to := st.Sink
	to.Sources, to.Queries = s.Sources, sinkFrom(name, s).Queries
	return n.sinks.Put(ctx, to, st.Sink.Revision, false)
}

// AddQuery adds a query, unless it is there.
func (n importNotifier) AddQuery(ctx context.Context, q client.NewQuery) error {
	if _, err := n.queries.Query(ctx, queries.ID(q.ID)); !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	defined, err := queries.FromClient(q)
	if err != nil {
		return told(err)
	}
	report, err := n.admitQuery(ctx, defined)
	if err != nil {
		return err
	}
	added := report.Query
	added.Origin, added.Created, added.From = freshet.FromAPI, n.Now(), -1
	if _, err = n.queries.AddQuery(ctx, added); err == nil {
		n.queriesEdited()
	}
	return err
}
