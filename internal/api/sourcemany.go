package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

func (a *sourceAPI) routeMany() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "add-sources", Method: http.MethodPost, Path: "/api/v1/sources/batch", Tags: []string{"sources"},
		Summary: "Watch many sources",
		Description: "Adds up to 1000 sources, 500 to a transaction. A source that cannot be watched keeps no other from being added, and one that is watched already stays as it is, " +
			"so that the same request can be sent again. With dry_run nothing is added.",
	}, a.addSources)
}

func (a *sourceAPI) addSources(ctx context.Context, in *rest.Body[client.SourcesToAdd]) (*rest.Body[client.AddedSources], error) {
	list := make([]candidate, len(in.Body.Sources))
	for i, s := range in.Body.Sources {
		list[i] = a.candidate(s)
	}
	err := a.addAll(ctx, list, in.Body.DryRun, nil)
	if err != nil {
		return nil, err
	}
	done := resultsOf(list)
	done.DryRun = in.Body.DryRun
	return rest.Reply(done), nil
}

// resultsOf returns what became of candidates.
func resultsOf(list []candidate) client.AddedSources {
	done := client.AddedSources{Items: []client.AddedSource{}}
	for _, c := range list {
		item := client.AddedSource{Result: c.result, ID: c.id}
		switch c.result {
		case "added":
			done.Added++
		case "known":
			done.Known++
		default:
			done.Wrong++
			item.Error, item.Hint = invalid.ReasonOf(c.err).Error(), freshet.HintOf(c.err)
			item.Field, _ = invalid.FieldOf(c.err)
		}
		done.Items = append(done.Items, item)
	}
	return done
}

// A candidate is a source to add, with the result.
type candidate struct {
	source    freshet.Source
	err       error            // why the source is invalid
	result    string           // "added", "known" or "wrong"
	id        freshet.SourceID // ID of the source that watches the page, if there is one
	duplicate bool             // repeats an earlier candidate
}

// candidate returns a source in its normal form, or why it is invalid.
func (a *sourceAPI) candidate(n client.NewSource) candidate {
	s, err := n.Defined()
	if err == nil {
		s, err = a.admit(s)
	}
	if err == nil {
		s.Origin = freshet.FromAPI
		err = a.judge(s, nil)
	}
	return candidate{source: s, err: err}
}

// addAll adds the valid candidates in transactions of limited size and sets the result of each. On
// a dry run it only predicts the results. After an error, candidates of earlier transactions stay
// added, and the list can be sent again. Detail is for the audit log.
func (a *sourceAPI) addAll(ctx context.Context, list []candidate, dry bool, detail map[string]any) (err error) {
	if dry {
		rest.DryRun(ctx)
	}
	var added []freshet.SourceID
	defer func() { rest.ChangedMany(ctx, detail, added) }()
	seen := map[string]bool{}
	for from := 0; from < len(list); from += daemon.MostAtOnce {
		part := list[from:min(from+daemon.MostAtOnce, len(list))]
		if err = ctx.Err(); err != nil {
			err = context.Cause(ctx)
		} else if dry {
			err = a.preview(ctx, part, seen)
		} else {
			err = a.addPart(ctx, part)
		}
		if err != nil {
			hint := "nothing was added"
			if len(added) > 0 {
				hint = fmt.Sprintf("%d were added before that, the last one %s; send the list again: what is watched stays as it is", len(added), added[len(added)-1])
			}
			return freshet.WithHint(fmt.Errorf("entries %d to %d: %w", from+1, from+len(part), err), hint)
		}
		for _, c := range part {
			if c.result == "added" && !dry {
				added = append(added, c.id)
			}
		}
	}
	return nil
}

// addPart adds the valid candidates in one transaction.
func (a *sourceAPI) addPart(ctx context.Context, part []candidate) error {
	var list []freshet.Source
	var places []int
	for i := range part {
		if part[i].result = "wrong"; part[i].err == nil {
			list, places = append(list, part[i].source), append(places, i)
		}
	}
	added, refused, err := a.daemon.AddSources(ctx, list)
	if err != nil {
		return err
	}
	for i, place := range places {
		c := &part[place]
		conflict, ok := errors.AsType[*freshet.ConflictError](refused[i])
		switch {
		case refused[i] == nil:
			c.result, c.id = "added", added[i].ID
		case ok && conflict.Taken == "":
			c.result, c.id = "known", conflict.Existing
		default:
			c.err = refused[i]
		}
	}
	return nil
}

// preview predicts the results of addPart. Seen are the pages of earlier candidates.
func (a *sourceAPI) preview(ctx context.Context, part []candidate, seen map[string]bool) error {
	var urls []string
	for _, c := range part {
		if c.err == nil {
			urls = append(urls, c.source.URL)
		}
	}
	found, err := a.store.SourcesAt(ctx, urls)
	if err != nil {
		return err
	}
	watched := map[string]freshet.SourceID{}
	for _, w := range found {
		watched[pageOf(w.Source)] = w.ID
	}
	for i := range part {
		c := &part[i]
		page := pageOf(c.source)
		id, known := watched[page]
		switch {
		case c.err != nil:
			c.result = "wrong"
		case known || seen[page]:
			c.result, c.id, c.duplicate = "known", id, !known
		default:
			c.result, seen[page] = "added", true
		}
	}
	return nil
}

// pageOf returns a key of what a source watches. Sources with equal keys are duplicates.
func pageOf(s freshet.Source) string { return s.URL + "\n" + s.Key() }
