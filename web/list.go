package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"freshet"
	"freshet/client"
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

// listed yields the sources that a list is of, from after an ID on if they are
// watched.
func (a *api) listed(ctx context.Context, in *listSourcesInput, after freshet.SourceID) iter.Seq2[freshet.Watched, error] {
	if in.Removed {
		return a.Store.RemovedSources(ctx, "")
	}
	return a.Store.SourcesAfter(ctx, after)
}

// matches reports whether a source is asked for.
func (in *listSourcesInput) matches(w freshet.Watched) bool {
	if in.Named && w.Of != "" || in.Of != "" && string(w.Of) != in.Of {
		return false
	}
	if in.Tag != "" && !slices.Contains(w.Tags, in.Tag) || in.Host != "" && w.Host() != in.Host {
		return false
	}
	if len(in.State) > 0 {
		s := client.Source{Paused: w.Paused, Standing: standingOf(w)}
		if !slices.ContainsFunc(in.State, func(state string) bool { return s.Is(client.State(state)) }) {
			return false
		}
	}
	if in.Q == "" {
		return true
	}
	q := strings.ToLower(in.Q)
	return slices.ContainsFunc([]string{string(w.ID), w.URL, w.Name, w.Standing.Head.Title}, func(field string) bool {
		return strings.Contains(strings.ToLower(field), q)
	})
}

func (a *api) listSources(ctx context.Context, in *listSourcesInput) (*bodyOf[client.SourcePage], error) {
	page := client.SourcePage{Items: []client.Source{}}
	var err error
	if in.Sort == "id" && !in.Reverse && in.Offset == 0 && !in.Total {
		err = a.listByID(ctx, in, &page)
	} else {
		err = a.listByRank(ctx, in, &page)
	}
	for i := range page.Items {
		page.Items[i].Removed = in.Removed
	}
	if err == nil && in.Next {
		err = a.addNext(ctx, page.Items)
	}
	return &bodyOf[client.SourcePage]{page}, err
}

// listByID fills a page in the order of the store.
func (a *api) listByID(ctx context.Context, in *listSourcesInput, page *client.SourcePage) error {
	limit := min(in.Limit, maxPage)
	for w, err := range a.listed(ctx, in, freshet.SourceID(in.After)) {
		if err != nil {
			return err
		}
		if string(w.ID) <= in.After || !in.matches(w) {
			continue
		}
		if len(page.Items) == limit {
			next := string(page.Items[limit-1].ID)
			page.Next = &next
			break
		}
		page.Items = append(page.Items, sourceOf(w))
	}
	return nil
}

// A rank is the place of a source in a list that is not sorted by ID alone.
type rank struct {
	key int64
	id  freshet.SourceID
}

// compare orders ranks; those with the same key by ID.
func (r rank) compare(o rank) int { return cmp.Or(cmp.Compare(r.key, o.key), cmp.Compare(r.id, o.id)) }

// String returns the rank as a place to go on from. An ID has no '~'.
func (r rank) String() string { return fmt.Sprintf("%d~%s", r.key, r.id) }

// parseRank reads what String wrote; "" is before all others.
func parseRank(s string) (rank, error) {
	if s == "" {
		return rank{key: math.MinInt64}, nil
	}
	key, id, ok := strings.Cut(s, "~")
	n, err := strconv.ParseInt(key, 10, 64)
	if !ok || err != nil {
		return rank{}, invalid("query.after", "is not the next of a page with the same sort", s)
	}
	return rank{n, freshet.SourceID(id)}, nil
}

// rankOf returns the rank of a source, whose next poll is expected at a moment.
func (in *listSourcesInput) rankOf(w freshet.Watched, next time.Time) rank {
	r := rank{id: w.ID}
	st := w.Standing
	switch in.Sort {
	case "changed":
		r.key = -nanos(st.ChangedAt, 0)
	case "seen":
		r.key = nanos(st.Seen, 0)
	case "next":
		r.key = nanos(next, math.MaxInt64)
	case "polls":
		r.key = -st.Polls
	case "changes":
		r.key = -int64(st.Changes)
	}
	return r
}

// nanos returns a moment as a number, or what stands for none.
func nanos(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixNano()
}

// listByRank fills a page in another order. It looks at every source for each
// page, but holds only a few pages of them.
func (a *api) listByRank(ctx context.Context, in *listSourcesInput, page *client.SourcePage) error {
	after, err := parseRank(in.After)
	if err != nil {
		return err
	}
	limit := min(in.Limit, maxPage)
	compare := rank.compare
	if in.Reverse {
		compare = func(r, o rank) int { return o.compare(r) }
	}
	reach := in.Offset + limit
	var best []rank
	keep := func() {
		slices.SortFunc(best, compare)
		best = best[:min(len(best), reach+1)]
	}
	total := 0
	err = a.ranked(ctx, in, func(r rank) {
		total++
		if in.After != "" && compare(r, after) <= 0 {
			return
		}
		if best = append(best, r); len(best) >= 4*reach {
			keep()
		}
	})
	if err != nil {
		return err
	}
	keep()
	if len(best) > reach {
		next := best[reach-1].String()
		page.Next, best = &next, best[:reach]
	}
	if in.Total {
		page.Total = &total
	}
	for _, r := range best[min(in.Offset, len(best)):] {
		read := a.Store.Source
		if in.Removed {
			read = a.Store.RemovedSource
		}
		w, err := read(ctx, r.id)
		switch {
		case errors.Is(err, freshet.ErrNotFound): // removed meanwhile
		case err != nil:
			return err
		default:
			page.Items = append(page.Items, sourceOf(w))
		}
	}
	return nil
}

// ranked yields the ranks of all sources that are asked for.
func (a *api) ranked(ctx context.Context, in *listSourcesInput, yield func(rank)) error {
	const atOnce = 1000
	var part []freshet.Watched
	flush := func() error {
		next, err := a.nextPolls(ctx, part, in.Sort == "next")
		if err != nil {
			return err
		}
		for i, w := range part {
			yield(in.rankOf(w, next[i]))
		}
		part = part[:0]
		return nil
	}
	for w, err := range a.listed(ctx, in, "") {
		if err != nil {
			return err
		}
		if !in.matches(w) {
			continue
		}
		if part = append(part, w); len(part) == atOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// nextPolls returns when polls of sources are expected, if that is wanted and
// somebody knows; zero otherwise.
func (a *api) nextPolls(ctx context.Context, of []freshet.Watched, wanted bool) ([]time.Time, error) {
	if !wanted || !a.Daemon.Status().Running {
		return make([]time.Time, len(of)), nil
	}
	ids := make([]freshet.SourceID, len(of))
	for i, w := range of {
		ids[i] = w.ID
	}
	patient, cancel := context.WithTimeoutCause(ctx, sortPatience, errLoopBusy)
	defer cancel()
	return a.Daemon.NextPolls(patient, ids)
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
