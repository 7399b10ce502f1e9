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
	done := client.AddedSources{DryRun: in.Body.DryRun, Items: []client.AddedSource{}}
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
	return rest.Reply(done), nil
}

// A candidate is a source that may be added, and what became of it.
type candidate struct {
	source freshet.Source
	err    error            // why it cannot be watched
	result string           // added, known or wrong
	id     freshet.SourceID // of the source that watches it now, if there is one
	twice  bool             // the same is in the list before
}

// candidate returns a source in its normal form, as far as it can be watched.
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

// addAll adds what can be watched, many in a transaction, and says of each what became of it. On
// a dry run it says what would. An error leaves what was added before it: the list can be sent
// again. Said is for the audit log.
func (a *sourceAPI) addAll(ctx context.Context, list []candidate, dry bool, said map[string]any) (err error) {
	if dry {
		rest.DryRun(ctx)
	}
	var added []freshet.SourceID
	defer func() { rest.ChangedMany(ctx, said, added) }()
	seen := map[string]bool{}
	for from := 0; from < len(list); from += daemon.MostAtOnce {
		part := list[from:min(from+daemon.MostAtOnce, len(list))]
		if err = ctx.Err(); err != nil {
			err = context.Cause(ctx)
		} else if dry {
			err = a.foresee(ctx, part, seen)
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

// addPart adds what can be watched in one transaction.
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

// foresee says what addPart would do. Seen are the pages of the list so far.
func (a *sourceAPI) foresee(ctx context.Context, part []candidate, seen map[string]bool) error {
	var urls []string
	for _, c := range part {
		if c.err == nil {
			urls = append(urls, c.source.URL)
		}
	}
	there, err := a.store.SourcesAt(ctx, urls)
	if err != nil {
		return err
	}
	watched := map[string]freshet.SourceID{}
	for _, w := range there {
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
			c.result, c.id, c.twice = "known", id, !known
		default:
			c.result, seen[page] = "added", true
		}
	}
	return nil
}

// pageOf names what a source watches: two that watch the same are one.
func pageOf(s freshet.Source) string { return s.URL + "\n" + s.Key() }
