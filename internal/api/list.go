package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

type listSourcesInput struct {
	Tag     string   `query:"tag" doc:"Only sources with this tag"`
	Q       string   `query:"q" doc:"Only sources with this in their ID, URL, name or title, in any case"`
	Host    string   `query:"host" doc:"Only sources of this host"`
	State   []string `query:"state" enum:"failing,noisy,paused,unseen,suspect,well" doc:"Only sources in one of these states; well: in none of the others"`
	Sort    string   `query:"sort" default:"id" enum:"id,changed,seen,next,polls,changes" doc:"id: by ID; changed: latest change first; seen: last seen longest ago first; next: next poll first; polls: most polls first; changes: most changes first"`
	Reverse bool     `query:"reverse" doc:"Reverse the order"`
	Next    bool     `query:"next" doc:"Include when the next poll of each source is expected"`
	After   string   `query:"after" doc:"Continue after this position: the next of the previous page or, if sorted by ID, any ID"`
	Offset  int      `query:"offset" minimum:"0" maximum:"1000000000" doc:"Leave out so many first: for a list that somebody scrolls through; sources that come and go meanwhile shift it"`
	Limit   int      `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Total   bool     `query:"total" doc:"Count all sources that the list has"`
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
	f := freshet.SourceFilter{Tag: in.Tag, Host: in.Host, Text: in.Q, Of: freshet.SourceID(in.Of), Named: in.Named, Removed: in.Removed}
	for _, state := range in.State {
		f.In |= conditions[client.State(state)]
	}
	return f
}

func (a *api) listSources(ctx context.Context, in *listSourcesInput) (*bodyOf[client.SourcePage], error) {
	list := a.listStored
	if in.Sort == "next" {
		list = a.listByNext
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
	return &bodyOf[client.SourcePage]{page}, err
}

// listStored returns a page in an order that the store has.
func (a *api) listStored(ctx context.Context, in *listSourcesInput) (page client.SourcePage, err error) {
	q := freshet.SourceQuery{SourceFilter: in.filter(), Reverse: in.Reverse, Offset: in.Offset, Limit: min(in.Limit, maxPage)}
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
	list, err := a.Store.ListSources(ctx, q)
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
		return freshet.SourceRank{}, invalid("query.after", "is not the next of a page with the same sort", s)
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

// A busyLoop is when the loop last had no time to answer. For a while after that a
// list of many pages does not wait for it at each page anew.
type busyLoop struct{ since atomic.Int64 }

// patience returns how long to wait for the loop.
func (b *busyLoop) patience(now time.Time) time.Duration {
	if since := now.UnixNano() - b.since.Load(); 0 <= since && since < int64(10*time.Second) {
		return loopPatience / 40
	}
	return loopPatience
}

// addNext says of sources when their next polls are expected, if somebody knows.
func (a *api) addNext(ctx context.Context, sources []client.Source) error {
	if !a.Daemon.Status().Running {
		return nil
	}
	ids := make([]freshet.SourceID, len(sources))
	for i, s := range sources {
		ids[i] = s.ID
	}
	brief, cancel := context.WithTimeout(ctx, a.busy.patience(a.Now()))
	defer cancel()
	next, err := a.Daemon.NextPolls(brief, ids)
	if err != nil {
		a.busy.since.Store(a.Now().UnixNano())
		return ctx.Err() // a list without them is better than none
	}
	for i := range sources {
		sources[i].NextPoll = utc(next[i])
	}
	return nil
}
