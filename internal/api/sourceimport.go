package api

import (
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
)

func (a *sourceAPI) routeImport() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "import", Method: http.MethodPost, Path: "/api/v1/import", Tags: []string{"sources"},
		Summary: "Import a list of pages from another program",
		Description: "Knows lists of addresses, OPML, jobs of urlwatch and webchanges, and what changedetection.io exports. " +
			"An entry that cannot be watched keeps no other from being added. With dry_run nothing is added.",
	}, a.bring)
}

func (a *sourceAPI) bring(ctx context.Context, in *rest.Body[client.Import]) (*rest.Body[client.Imported], error) {
	format := importer.Format(in.Body.Format)
	if format == "" {
		format = importer.Guess(in.Body.Text)
	}
	entries, err := importer.Read(format, in.Body.Text)
	if err != nil {
		return nil, rest.Invalid("body.text", err.Error(), nil)
	}
	if len(entries) == 0 {
		return nil, rest.Invalid("body.text", "there is no entry in it", nil)
	}
	watched, err := a.watched(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.DryRun {
		rest.DryRun(ctx)
	}
	var added []freshet.SourceID
	defer func() { rest.ChangedMany(ctx, map[string]any{"format": format}, added) }()
	done := client.Imported{Format: string(format), DryRun: in.Body.DryRun, Items: []client.ImportedItem{}}
	for _, e := range entries {
		e.Source.Tags = merge(e.Source.Tags, in.Body.Tags)
		item, err := a.bringOne(ctx, e, watched, in.Body.DryRun)
		if err != nil {
			return nil, err
		}
		switch item.Result {
		case "added":
			done.Added++
			added = append(added, item.ID)
		case "known":
			done.Known++
		default:
			done.Wrong++
		}
		done.Items = append(done.Items, item)
	}
	return rest.Reply(done), nil
}

// watched returns the sources there are by what they watch.
func (a *sourceAPI) watched(ctx context.Context) (map[string]freshet.SourceID, error) {
	all := map[string]freshet.SourceID{}
	for w, err := range a.store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		all[pageOf(w.Source)] = w.ID
	}
	return all, nil
}

// bringOne adds an entry, unless it is only to be said what would become of it. What is
// wrong with it is in the item; an error is one of ours.
func (a *sourceAPI) bringOne(ctx context.Context, e importer.Entry, watched map[string]freshet.SourceID, dry bool) (client.ImportedItem, error) {
	item := client.ImportedItem{Line: e.Line, URL: mask.URL(e.Source.URL), Name: e.Source.Name, Tags: e.Source.Tags, Read: e.Source.Read, Notes: e.Notes}
	wrong := func(err error) (client.ImportedItem, error) {
		item.Result, item.Error = "wrong", err.Error()
		return item, nil
	}
	if e.Err != nil {
		return wrong(e.Err)
	}
	s, err := e.Source.Defined()
	if err == nil {
		s, err = a.admit(s)
	}
	if err != nil {
		return wrong(err)
	}
	s.Origin = freshet.FromAPI
	if err := a.judge(s, nil); err != nil {
		return wrong(err)
	}
	if id, ok := watched[pageOf(s)]; ok {
		if item.Result, item.ID = "known", id; id == "" {
			item.Notes = append(item.Notes, "it is in the list twice")
		}
		return item, nil
	}
	if !dry {
		added, err := a.daemon.AddSource(ctx, s)
		if c, ok := errors.AsType[*freshet.ConflictError](err); ok {
			item.Result, item.ID = "known", c.Existing
			return item, nil
		}
		if err != nil {
			return item, err
		}
		item.ID = added.ID
	}
	watched[pageOf(s)] = item.ID
	item.Result = "added"
	return item, nil
}

// pageOf names what a source watches: two that watch the same are one.
func pageOf(s freshet.Source) string { return s.URL + "\n" + s.Key() }

// merge returns tags with others that are not among them.
func merge(tags, others []string) []string {
	tags = slices.Clone(tags)
	for _, t := range others {
		if !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return tags
}
