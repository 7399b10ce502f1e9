package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/search"
)

// searchAPI serves the search over versions.
type searchAPI struct {
	*rest.Server
	SearchConfig
}

func (a *searchAPI) routes() {
	a.routeSearch()
}

func (a *searchAPI) routeSearch() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "search", Method: http.MethodGet, Path: "/api/v1/search", Tags: []string{"versions"},
		Summary: "Search the text of current and past versions",
		Description: "A hit is a run of versions of a source, one after the other, that all have the words: a line that stays over fifty versions is one hit. " +
			"Words, \"phrases\", beginnings (secur*), OR, NOT or - and parentheses are understood; see docs/reference/search.md. " +
			"A search sees what has been captured before it; if that is more than can be indexed at once, waiting says how many versions it does not see yet.",
	}, a.search)
}

type searchInput struct {
	Q       string           `query:"q" required:"true" maxLength:"1000" doc:"Words to find"`
	Source  freshet.SourceID `query:"source" doc:"Only in this source"`
	Site    freshet.SourceID `query:"site" doc:"Only in this site and its pages"`
	Tag     string           `query:"tag" doc:"Only in sources with this tag"`
	Since   string           `query:"since" doc:"Only text that was present at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d"`
	Until   string           `query:"until" doc:"Only text that was present before this time; a date means its beginning"`
	Current bool             `query:"current" doc:"Only text of the current versions"`
	Sort    string           `query:"sort" default:"rank" enum:"rank,newest,oldest" doc:"rank: best match first; newest: most recent first; oldest: least recent first"`
	Offset  int              `query:"offset" minimum:"0" doc:"Skip this many"`
	Limit   int              `query:"limit" default:"20" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *searchAPI) search(ctx context.Context, in *searchInput) (*rest.Body[client.SearchPage], error) {
	if a.Off {
		p := rest.NewProblem(http.StatusNotImplemented, "search is off")
		p.Hint = "remove search: off from the configuration and restart; the index is then made in the background"
		return nil, p
	}
	seen, err := a.ParseBetween(rest.Between{Since: in.Since, Until: in.Until})
	if err != nil {
		return nil, err
	}
	if a.Index != nil {
		if err := a.Index(ctx); err != nil {
			return nil, err
		}
	}
	limit := min(in.Limit, rest.MaxPage)
	r, err := a.Search(ctx, search.Request{
		Words: in.Q, Source: in.Source, Site: in.Site, Tag: in.Tag, Seen: seen, Current: in.Current, Order: search.Order(in.Sort), Offset: in.Offset, Limit: limit,
	})
	if f, ok := errors.AsType[*invalid.Error](err); ok {
		return nil, rest.Invalid("query.q", f.Reason, in.Q)
	}
	if err != nil {
		return nil, err
	}
	page := client.SearchPage{Items: []client.SearchHit{}, Total: r.Total, Cut: r.Cut, Waiting: r.Waiting}
	for _, h := range r.Hits {
		page.Items = append(page.Items, hitOf(h))
	}
	if next := in.Offset + limit; next < r.Total && len(r.Hits) == limit {
		page.Next = &next
	}
	return rest.Reply(page), nil
}

// hitOf returns a hit as the API tells it.
func hitOf(h search.Hit) client.SearchHit {
	told := client.SearchHit{
		Source: h.Source, URL: mask.URL(h.Label.URL), Name: h.Label.Name, Title: h.Title, Tags: h.Label.Tags, Removed: h.Removed,
		First: h.First, Last: h.Last, Versions: h.Versions, Since: rest.UTC(h.Since), Until: rest.UTC(h.Until), Current: h.Current(), Score: h.Score,
		Passages: []client.SearchPassage{},
	}
	for _, p := range h.Passages {
		shown := client.SearchPassage{Text: p.Text, Marks: []client.Mark{}}
		for _, m := range p.Marks {
			shown.Marks = append(shown.Marks, client.Mark{From: m[0], To: m[1]})
		}
		told.Passages = append(told.Passages, shown)
	}
	return told
}
