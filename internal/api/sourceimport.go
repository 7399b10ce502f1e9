package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

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
		OperationID: "fetch-document", Method: http.MethodPost, Path: "/api/v1/import/document", Tags: []string{"sources"}, DefaultStatus: http.StatusOK,
		Summary:     "Fetch a list to import, or a version in a web archive",
		Description: "It is fetched as a poll is: it counts against the budget and its host, obeys robots.txt, and waits until they allow it. Nothing is stored.",
	}, a.fetchDocument)
	rest.Route(a.Server, huma.Operation{
		OperationID: "import", Method: http.MethodPost, Path: "/api/v1/import", Tags: []string{"sources"},
		Summary: "Import a list of pages from another program",
		Description: "Knows lists of addresses, CSV, OPML, bookmarks of browsers, jobs of urlwatch and webchanges, and exports of changedetection.io, Distill and Huginn. " +
			"Receivers of notifications become sinks, and conditions become queries. An entry that cannot be watched keeps no other from being added. With dry_run nothing is added.",
	}, a.importSources)
}

func (a *importAPI) importSources(ctx context.Context, in *rest.Body[client.Import]) (*rest.Body[client.Imported], error) {
	run, err := runOf(in.Body)
	if err != nil {
		return nil, err
	}
	done := client.Imported{Items: []client.ImportedItem{}}
	found := 0
	run.To = &importDestination{queryAPI: a.queries, to: a.sourceAPI, format: run.Format}
	run.Begin = func(n int) { found = n }
	run.Each = func(i importer.Item) {
		done.Items = append(done.Items, client.ImportedItem{
			Line: i.Line, Path: i.Path, Result: i.Result, ID: i.ID, URL: mask.URL(i.Source.URL), Name: i.Source.Name, Tags: i.Source.Tags, Read: i.Source.Read, Notes: i.Notes, Error: i.Error,
		})
	}
	report, err := run.Do(ctx)
	switch {
	case err != nil && found == 0:
		return nil, rest.Invalid("body.text", err.Error(), nil)
	case err != nil:
		return nil, err
	case len(done.Items) == 0 && len(report.Sinks) == 0:
		return nil, rest.Invalid("body.text", "there is no entry in it", nil)
	}
	done.Format, done.DryRun, done.Added, done.Known, done.Wrong = string(report.Format), report.DryRun, report.Added, report.Known, report.Wrong
	for _, q := range report.Queries {
		done.Queries = append(done.Queries, q.ID)
	}
	for _, s := range report.Sinks {
		done.Sinks = append(done.Sinks, client.ImportedSink{Name: s.Name, Notes: s.Notes, Error: s.Error})
	}
	return rest.Reply(done), nil
}

func (a *importAPI) fetchDocument(ctx context.Context, in *rest.Body[client.DocumentToFetch]) (*rest.Body[client.Document], error) {
	s, err := a.admit(freshet.Source{URL: in.Body.URL})
	if err == nil {
		err = a.judge(s, nil)
	}
	if err != nil {
		return nil, err
	}
	found, err := visit(ctx, a.daemon, s)
	if err != nil {
		return nil, err
	}
	if found.Capture == nil {
		p := rest.NewProblem(http.StatusBadGateway, fmt.Sprintf("%s cannot be fetched: %s", mask.URL(s.URL), cmp.Or(mask.Text(found.Err), string(found.Failure))))
		p.Hint = "open it in a browser, save it, and import the file"
		return nil, p
	}
	raw := found.Capture.Raw
	return rest.Reply(client.Document{URL: mask.URL(raw.URL), MediaType: raw.Header.Get("Content-Type"), Body: raw.Body}), nil
}

// runOf returns how a list is imported.
func runOf(list client.Import) (run importer.Run, err error) {
	run = importer.Run{List: importer.List{Text: list.Text}, Tags: list.Tags, DryRun: list.DryRun, Limit: importer.MaxEntries}
	if run.Intervals, err = importer.ParseIntervals(list.Intervals); err != nil {
		return run, rest.Invalid("body.intervals", err.Error(), nil)
	}
	if list.Format != "" {
		if run.Format, err = importer.ParseFormat(list.Format); err != nil {
			err = rest.Invalid("body.format", err.Error(), nil)
		}
		return run, err
	}
	format, known := importer.Detect(list.Text)
	if !known {
		return run, rest.Invalid("body.text", importer.ErrUnknownFormat.Error()+"; name it in format", nil)
	}
	run.Format = format
	return run, nil
}

// An importDestination adds what a list holds to the daemon.
type importDestination struct {
	*queryAPI
	to     *sourceAPI
	format importer.Format
}

// Add adds sources.
func (d *importDestination) Add(ctx context.Context, sources []client.NewSource, dryRun bool) ([]client.AddedSource, error) {
	list := make([]candidate, len(sources))
	for i, s := range sources {
		list[i] = d.to.candidate(s)
	}
	if err := d.to.addAll(ctx, list, dryRun, map[string]any{"format": d.format}); err != nil {
		return nil, err
	}
	return resultsOf(list).Items, nil
}

// Sink returns what a sink gets.
func (n *importDestination) Sink(ctx context.Context, name string) (client.NewSink, bool, error) {
	if n.sinks == nil {
		return client.NewSink{}, false, errNoSinks()
	}
	st, err := n.sinks.Get(ctx, name)
	if errors.Is(err, freshet.ErrNotFound) {
		return client.NewSink{}, false, nil
	}
	return newSinkOf(st.Sink), err == nil, err
}

// AddSink adds a sink, or says why it cannot be added.
func (n *importDestination) AddSink(ctx context.Context, name string, s client.NewSink, dryRun bool) error {
	if dryRun {
		_, err := n.sinks.Preview(ctx, sinkFrom(name, s), 0)
		return err
	}
	return n.sinks.Put(ctx, sinkFrom(name, s), 0, true)
}

// Follow has a sink get more sources or queries.
func (n *importDestination) Follow(ctx context.Context, name string, s client.NewSink) error {
	st, err := n.sinks.Get(ctx, name)
	if err != nil {
		return err
	}
	to := st.Sink
	to.Sources, to.Queries = s.Sources, sinkFrom(name, s).Queries
	return n.sinks.Put(ctx, to, st.Sink.Revision, false)
}

// AddQuery adds a query, unless it is there.
func (n *importDestination) AddQuery(ctx context.Context, q client.NewQuery) error {
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
