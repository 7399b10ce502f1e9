package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
	"freshet/internal/mask"
)

type listSourcesInput struct {
	Tag     string   `query:"tag" doc:"Only sources with this tag"`
	Q       string   `query:"q" doc:"Only sources with this in their ID, URL, name or title, in any case"`
	Host    string   `query:"host" doc:"Only sources of this host"`
	State   []string `query:"state" enum:"failing,noisy,paused,unseen,suspect,well" doc:"Only sources in one of these states; well: in none of the others"`
	Sort    string   `query:"sort" default:"id" enum:"id,changed,seen,next,polls,changes,attention,rate,captured" doc:"id: by ID; attention: failing, suspect, noisy, not seen, moved, well, paused, the latest change first; changed: latest change first; seen: last seen longest ago first; next: next poll first; polls: most polls first; changes: most changes first; rate: those that change most often first; captured: those of whose changes least is captured first. Where a next poll, a rate or a share is not known yet, the source comes last. Rates and shares are as they were up to a minute ago"`
	Reverse bool     `query:"reverse" doc:"Reverse the order"`
	Next    bool     `query:"next" doc:"Include when the next poll of each source is expected"`
	Outlook bool     `query:"outlook" doc:"Include how often each source changes and what share of its changes is captured, as in why, and how many changes it had on each of the last seven days"`
	After   string   `query:"after" doc:"Continue after this position: the next of the previous page or, if sorted by ID, any ID"`
	Offset  int      `query:"offset" minimum:"0" maximum:"1000000000" doc:"Skip this many; sources that are added or removed meanwhile shift the list"`
	Limit   int      `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Total   bool     `query:"total" doc:"Include the total number of sources"`
	Removed bool     `query:"removed" doc:"List removed sources whose history is kept"`
	Named   bool     `query:"named" doc:"Leave out the pages of sites"`
	Of      string   `query:"of" doc:"Only pages of this site"`
}

// conditions are the states by their names.
var conditions = map[client.State]freshet.Conditions{
	client.Failing: freshet.IsFailing, client.Noisy: freshet.IsNoisy, client.Paused: freshet.IsPaused,
	client.Unseen: freshet.IsUnseen, client.Suspected: freshet.IsSuspect, client.Well: freshet.IsWell,
}

// filter returns which sources are asked for.
func (in *listSourcesInput) filter() freshet.SourceFilter {
	f := freshet.SourceFilter{Tag: in.Tag, Host: in.Host, Text: mask.URL(in.Q), Of: freshet.SourceID(in.Of), Named: in.Named, Removed: in.Removed}
	for _, state := range in.State {
		f.In |= conditions[client.State(state)]
	}
	return f
}

func (a *sourceAPI) listSources(ctx context.Context, in *listSourcesInput) (*rest.Body[client.SourcePage], error) {
	list := a.listStored
	if slices.Contains([]string{"next", "rate", "captured"}, in.Sort) {
		list = a.listRanked
	}
	page, err := list(ctx, in)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		page.Items[i].Removed = in.Removed
	}
	if in.Next {
		err = a.addNext(ctx, page.Items)
	}
	if err == nil && in.Outlook {
		err = a.addOutlooks(ctx, page.Items)
	}
	if err == nil && in.Outlook {
		err = a.addWeeks(ctx, page.Items)
	}
	return rest.Reply(page), err
}

// listStored returns a page in an order that the store has.
func (a *sourceAPI) listStored(ctx context.Context, in *listSourcesInput) (page client.SourcePage, err error) {
	q := freshet.SourceQuery{SourceFilter: in.filter(), Reverse: in.Reverse, Offset: in.Offset, Limit: min(in.Limit, rest.MaxPage)}
	plain := in.Sort == "id" && !in.Reverse && in.Offset == 0 && !in.Total // then the place to go on from is an ID
	if in.Sort != "id" {
		q.By = freshet.SourceOrder(in.Sort)
	}
	switch {
	case in.After == "":
	case plain:
		q.After = &freshet.SourceRank{ID: freshet.SourceID(in.After)}
	default:
		rank, err := parseRank(in.After)
		if err != nil {
			return page, err
		}
		q.After = &rank
	}
	list, err := a.store.ListSources(ctx, q)
	if err != nil {
		return page, err
	}
	page.Items = []client.Source{}
	for _, w := range list.Sources {
		page.Items = append(page.Items, sourceOf(w))
	}
	if list.More {
		next := string(list.End.ID)
		if !plain {
			next = rankText(list.End)
		}
		page.Next = &next
	}
	if in.Total {
		page.Total = &list.Total
	}
	return page, nil
}

// rankText returns a rank as a place to go on from. An ID has no '~'.
func rankText(r freshet.SourceRank) string { return fmt.Sprintf("%d~%s", r.Key, r.ID) }

// parseRank reads what rankText wrote.
func parseRank(s string) (freshet.SourceRank, error) {
	key, id, ok := strings.Cut(s, "~")
	n, err := strconv.ParseInt(key, 10, 64)
	if !ok || err != nil {
		return freshet.SourceRank{}, rest.Invalid("query.after", "is not the next of a page with the same sort", s)
	}
	return freshet.SourceRank{Key: n, ID: freshet.SourceID(id)}, nil
}

// loopPatience is how long an answer waits for the loop to say what is left out if
// it is too busy, and sortPatience how long if it cannot be left out.
const (
	loopPatience = 2 * time.Second
	sortPatience = 10 * time.Second
)

// errLoopBusy means that the loop had no time to answer.
var errLoopBusy = freshet.WithHint(fmt.Errorf("the daemon is too busy to say when it polls what: %w", freshet.ErrBusy),
	"try again in a moment, or sort by something else")

// A busyLoop is when the loop last had no time to answer. For a while after that, a
// list of many pages does not wait for it at every page.
type busyLoop struct{ since atomic.Int64 }

// patience returns how long to wait for the loop.
func (b *busyLoop) patience(now time.Time) time.Duration {
	if since := now.UnixNano() - b.since.Load(); 0 <= since && since < int64(10*time.Second) {
		return loopPatience / 40
	}
	return loopPatience
}

// asking asks the loop something about sources, if it runs. If it has no time to answer, the list goes without:
// that is better than none.
func (a *sourceAPI) asking(ctx context.Context, sources []client.Source, ask func(context.Context, []freshet.SourceID) error) error {
	if !a.daemon.Status().Running {
		return nil
	}
	ids := make([]freshet.SourceID, len(sources))
	for i, s := range sources {
		ids[i] = s.ID
	}
	brief, cancel := context.WithTimeout(ctx, a.busy.patience(a.Now()))
	defer cancel()
	if err := ask(brief, ids); err != nil {
		a.busy.since.Store(a.Now().UnixNano())
	}
	return ctx.Err()
}

// addNext adds when the next polls of sources are expected, if a daemon runs.
func (a *sourceAPI) addNext(ctx context.Context, sources []client.Source) error {
	return a.asking(ctx, sources, func(ctx context.Context, ids []freshet.SourceID) error {
		next, err := a.daemon.NextPolls(ctx, ids)
		for i := range next {
			sources[i].NextPoll = rest.UTC(next[i])
		}
		return err
	})
}

// addOutlooks adds how often sources change and what share is captured, if a daemon runs.
func (a *sourceAPI) addOutlooks(ctx context.Context, sources []client.Source) error {
	return a.asking(ctx, sources, func(ctx context.Context, ids []freshet.SourceID) error {
		found, err := a.daemon.Outlooks(ctx, ids)
		for i := range sources {
			if o, known := found[sources[i].ID]; known && o.Now.Mean > 0 {
				rate, captured := client.RateOf(o.Rate), capturedOf(groupOf(o))
				sources[i].RatePerDay, sources[i].Captured = &rate, &captured
			}
		}
		return err
	})
}

// listRanked returns a page in an order that only the loop knows.
func (a *sourceAPI) listRanked(ctx context.Context, in *listSourcesInput) (page client.SourcePage, err error) {
	var after *freshet.SourceRank
	if in.After != "" {
		rank, err := parseRank(in.After)
		if err != nil {
			return page, err
		}
		after = &rank
	}
	order, err := a.ranked(ctx, in.Sort, in.filter())
	if err != nil {
		return page, err
	}
	part, more := order.part(in, after)
	page.Items = []client.Source{}
	if more {
		next := rankText(part[len(part)-1])
		page.Next = &next
	}
	if total := len(order.ids); in.Total {
		page.Total = &total
	}
	named := make([]freshet.SourceID, len(part))
	for i, r := range part {
		named[i] = r.ID
	}
	found, err := a.store.NamedSources(ctx, named, in.Removed) // without those that were removed meanwhile
	for _, w := range found {
		page.Items = append(page.Items, sourceOf(w))
	}
	return page, err
}

// A ranking is an order of sources, as it was a moment ago. Those of which nothing is known come last.
type ranking struct {
	filter freshet.SourceFilter
	at     time.Time
	ids    []freshet.SourceID // in their order
	spots  []spot
}

// A spot is where a source stands: by its key, then in the order of the IDs.
type spot struct {
	key int64
	at  int32
}

// unranked is the key of a source of which nothing is known.
const unranked = math.MaxInt64

// rankedFor returns how long a ranking of so many sources counts. When polls are expected is not renewed any faster
// than for 20,000 sources a second; rates and shares differ little after ten times as long.
func rankedFor(sort string, sources int) time.Duration {
	kept := time.Duration(max(1, sources/20_000)) * time.Second
	if sort != "next" {
		kept *= 10
	}
	return kept
}

// ranked returns an order of the sources that a filter selects. A reader who scrolls asks
// again and again: the last ranking is kept, and is good for the same sources.
func (a *sourceAPI) ranked(ctx context.Context, sort string, f freshet.SourceFilter) (*ranking, error) {
	ids, err := a.store.SourceIDs(ctx, f)
	if err != nil {
		return nil, err
	}
	now := a.Now()
	if last, ok := a.rankings.Load(sort); ok {
		o := last.(*ranking)
		if age := now.Sub(o.at); o.filter == f && 0 <= age && age < rankedFor(sort, len(ids)) && slices.Equal(o.ids, ids) {
			return o, nil
		}
	}
	keys, err := a.keys(ctx, sort, ids)
	if err != nil {
		return nil, err
	}
	o := newRanking(ids, keys)
	o.filter, o.at = f, now
	a.rankings.Store(sort, o)
	return o, nil
}

// newRanking sorts sources, whose IDs are in order.
func newRanking(ids []freshet.SourceID, keys []int64) *ranking {
	o := &ranking{ids: ids, spots: make([]spot, len(ids))}
	for i := range ids {
		o.spots[i] = spot{keys[i], int32(i)}
	}
	slices.SortFunc(o.spots, func(x, y spot) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.at, y.at)) })
	return o
}

func (o *ranking) rank(i int) freshet.SourceRank {
	return freshet.SourceRank{Key: o.spots[i].key, ID: o.ids[o.spots[i].at]}
}

// part returns the places of the sources of a page, and whether there are more.
func (o *ranking) part(in *listSourcesInput, after *freshet.SourceRank) (part []freshet.SourceRank, more bool) {
	q, n := freshet.SourceQuery{Reverse: in.Reverse}, len(o.spots)
	at := func(i int) freshet.SourceRank {
		if in.Reverse {
			i = n - 1 - i
		}
		return o.rank(i)
	}
	from := 0
	if after != nil {
		from = sort.Search(n, func(i int) bool { return q.Compare(at(i), *after) > 0 })
	}
	from = min(from+in.Offset, n)
	to := min(from+min(in.Limit, rest.MaxPage), n)
	for i := from; i < to; i++ {
		part = append(part, at(i))
	}
	return part, to < n
}

// keys returns the sort keys of sources, if a daemon runs.
func (a *sourceAPI) keys(ctx context.Context, sort string, ids []freshet.SourceID) ([]int64, error) {
	keys := slices.Repeat([]int64{unranked}, len(ids))
	if !a.daemon.Status().Running {
		return keys, nil
	}
	patient, cancel := context.WithTimeoutCause(ctx, sortPatience, errLoopBusy)
	defer cancel()
	if sort == "next" {
		next, err := a.daemon.Foreseen(patient, ids)
		for i, at := range next {
			if !at.IsZero() {
				keys[i] = at.UnixNano()
			}
		}
		return keys, err
	}
	found, err := a.daemon.Outlooks(patient, ids)
	for i, id := range ids {
		if o, known := found[id]; known && o.Now.Mean > 0 {
			keys[i] = keyOf(sort, o)
		}
	}
	return keys, err
}

// keyOf returns where a source stands by how often it changes, the fastest first, or by what is captured of it,
// the least first.
func keyOf(sort string, o outlook.Outlook) int64 {
	if sort == "rate" {
		r := client.RateOf(o.Rate)
		if often := cmp.Or(r.Mean, r.Low, r.High); r.Known != "unknown" {
			return -int64(often * 1e9)
		}
		return unranked
	}
	if c := capturedOf(groupOf(o)); c.TooEarly == "" {
		return int64(c.Share.Mean * 1e12)
	}
	return unranked
}

func (a *sourceAPI) routeFacets() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-facets", Method: http.MethodGet, Path: "/api/v1/sources/facets", Tags: []string{"sources"},
		Summary:     "Count the sources by state, tag and host",
		Description: "Pages that were found for a site are not counted.",
	}, a.getFacets)
}

// mostFacets is how many tags and hosts are counted by name.
const mostFacets = 100

func (a *sourceAPI) getFacets(ctx context.Context, _ *struct{}) (*rest.Body[client.Facets], error) {
	n, err := a.store.CountSources(ctx)
	if err != nil {
		return nil, err
	}
	f := client.Facets{Total: n.Named.Total, States: map[client.State]int{}, Tags: most(n.Tags), Hosts: most(n.Hosts)}
	for state, condition := range conditions {
		if sources := n.Named.In[condition]; sources > 0 {
			f.States[state] = sources
		}
	}
	return rest.Reply(f), nil
}

// most returns the names that were counted most often.
func most(counts map[string]int) []client.Facet {
	all := make([]client.Facet, 0, len(counts))
	for name, n := range counts {
		all = append(all, client.Facet{Name: name, Count: n})
	}
	slices.SortFunc(all, func(x, y client.Facet) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name))
	})
	return all[:min(len(all), mostFacets)]
}
