package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

func (a *sourceAPI) routePolls() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "poll-sources", Method: http.MethodPost, Path: "/api/v1/polls", Tags: tags,
		Summary:     "Poll all sources, or all with a tag, as soon as the budget and their hosts allow",
		Description: "Returns at once. The log of outcomes has the results, after the cursor in the response. Sources whose last success is longest ago come first.",
	}, a.pollSources)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-wanted-polls", Method: http.MethodGet, Path: "/api/v1/polls", Tags: tags,
		Summary:     "List the requested and the running polls",
		Description: "Ordered by source ID.",
	}, a.listWanted)
}

type pollSourcesInput struct {
	Tag   string `query:"tag" doc:"Only sources with this tag"`
	Now   bool   `query:"now" doc:"Ignore the min_gap of sources; the budget, host delays and Retry-After still apply"`
	Spare bool   `query:"spare" doc:"Skip sources that failed or were polled a moment ago, or that are still fresh according to their servers"`
}

func (a *sourceAPI) pollSources(ctx context.Context, in *pollSourcesInput) (*rest.Body[client.Round], error) {
	round := client.Round{Asked: []client.Held{}, Skipped: []client.Held{}}
	type seen struct {
		id freshet.SourceID
		at time.Time
	}
	var all []seen
	for w, err := range a.store.Sources(ctx) {
		switch {
		case err != nil:
			return nil, err
		case in.Tag != "" && !slices.Contains(w.Tags, in.Tag):
		case w.Paused:
			round.Skipped = append(round.Skipped, heldOf(daemon.Held{Source: w.ID, Hold: sched.Hold{Kind: sched.HoldPaused}}))
		default:
			all = append(all, seen{w.ID, w.Status.Seen})
		}
	}
	slices.SortStableFunc(all, func(a, b seen) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) })
	ids := make([]freshet.SourceID, len(all))
	for i, s := range all {
		ids[i] = s.id
	}
	asked, err := a.daemon.Round(ctx, ids, daemon.RoundConfig{Hurry: in.Now, Spare: in.Spare})
	if err != nil {
		return nil, err
	}
	for _, h := range asked.Asked {
		round.Asked = append(round.Asked, heldOf(h))
	}
	for _, h := range asked.Left {
		round.Skipped = append(round.Skipped, heldOf(h))
	}
	epochs, err := a.store.OutcomeEpochs(ctx)
	round.After = epochs.Place(asked.After)
	return rest.Reply(round), err
}

type listWantedInput struct {
	Tag   string `query:"tag" doc:"Only sources with this tag"`
	After string `query:"after" maxLength:"200" doc:"Continue after this: the next of the previous page"`
	Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"At most this many"`
}

func (a *sourceAPI) listWanted(ctx context.Context, in *listWantedInput) (*rest.Body[client.Wanted], error) {
	all, err := a.daemon.Wanted(ctx)
	if err != nil {
		return nil, err
	}
	if in.Tag != "" {
		tagged, err := a.store.SourceIDs(ctx, freshet.SourceFilter{Tag: in.Tag}) // in their order
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(h daemon.Held) bool {
			_, has := slices.BinarySearch(tagged, h.Source)
			return !has
		})
	}
	wanted := client.Wanted{Items: []client.Held{}}
	all, wanted.Next = rest.Page(rest.Paging{After: in.After, Limit: in.Limit}, all, func(h daemon.Held) string { return string(h.Source) })
	for _, h := range all {
		wanted.Items = append(wanted.Items, heldOf(h))
	}
	return rest.Reply(wanted), nil
}

func heldOf(h daemon.Held) client.Held { return client.Held{Source: h.Source, Hold: holdOf(h.Hold)} }
