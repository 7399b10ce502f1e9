package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A SourcePage is part of the list of sources.
type SourcePage struct {
	Items []Source `json:"items" nullable:"false"`
	Next  *string  `json:"next" doc:"Pass this as after to get the next page; null on the last page"`
	Total *int     `json:"total,omitempty" doc:"Sources that the whole list has, if asked for"`
}

// A PollAnswer is what asking for a poll brought.
type PollAnswer struct {
	Queued  bool     `json:"queued" doc:"The poll has not been made yet; it will be as soon as the budget and the host allow"`
	Outcome *Outcome `json:"outcome,omitempty" doc:"Result of the poll"`
	Hold    *Hold    `json:"hold,omitempty" doc:"What the poll is waiting for, if it is queued"`
}

// A SourceQuery selects sources. Its zero value selects all.
type SourceQuery struct {
	Tag     string           // only sources with this tag
	Text    string           // only sources with this in their id, URL, name or title, in any case
	States  []State          // only sources in one of these states
	Sort    string           // id, changed, seen, next, polls or changes; "" means id
	Reverse bool             // the other way round
	Next    bool             // say when the next poll of each is expected
	Limit   int              // at most so many; zero means all
	Removed bool             // those that are no longer watched and whose history is kept
	Named   bool             // leave out the pages of sites
	Of      freshet.SourceID // only pages of this site
}

// Sources returns the sources that a query selects, in the order that it asks for.
func (c *Client) Sources(ctx context.Context, q SourceQuery) (all []Source, err error) {
	asked := query{}
	asked.text("tag", q.Tag)
	asked.text("q", q.Text)
	var states []string
	for _, s := range q.States {
		states = append(states, string(s))
	}
	asked.text("state", strings.Join(states, ","))
	asked.flag("removed", q.Removed)
	asked.flag("named", q.Named)
	asked.text("of", string(q.Of))
	// The daemon goes through all sources for each page in another order. If all are
	// wanted, it is much quicker to sort them here.
	here := q.Limit == 0 && (q.Reverse || q.Sort != "" && q.Sort != "id")
	asked.flag("next", q.Next || here && q.Sort == "next")
	if !here {
		asked.text("sort", q.Sort)
		asked.flag("reverse", q.Reverse)
	}
	for {
		limit := 1000
		if q.Limit > 0 {
			limit = min(limit, q.Limit-len(all))
		}
		asked["limit"] = []string{strconv.Itoa(limit)}
		var page SourcePage
		if err := c.get(ctx, "/sources", url.Values(asked), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == nil || len(all) == q.Limit && q.Limit > 0 {
			break
		}
		asked["after"] = []string{*page.Next}
	}
	if here {
		return all, q.sort(all)
	}
	return all, nil
}

// orders are those of a list: each as the daemon has it.
var orders = map[string]func(a, b Source) int{
	"":        func(a, b Source) int { return 0 },
	"id":      func(a, b Source) int { return 0 },
	"changed": func(a, b Source) int { return b.Standing.ChangedAt.Compare(a.Standing.ChangedAt) },
	"seen":    func(a, b Source) int { return a.Standing.LastSeen.Compare(b.Standing.LastSeen) },
	"polls":   func(a, b Source) int { return cmp.Compare(b.Standing.Polls, a.Standing.Polls) },
	"changes": func(a, b Source) int { return cmp.Compare(b.Standing.Changes, a.Standing.Changes) },
	"next": func(a, b Source) int {
		switch { // of which nobody knows come last
		case a.NextPoll.IsZero() || b.NextPoll.IsZero():
			return cmp.Compare(number(a.NextPoll.IsZero()), number(b.NextPoll.IsZero()))
		}
		return a.NextPoll.Compare(b.NextPoll)
	},
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sort puts sources into the order that the query asks for.
func (q SourceQuery) sort(all []Source) error {
	order, ok := orders[q.Sort]
	if !ok {
		return fmt.Errorf("sources cannot be sorted by %q", q.Sort)
	}
	slices.SortFunc(all, func(a, b Source) int {
		if q.Reverse {
			a, b = b, a
		}
		return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// Source returns a source by its id.
func (c *Client) Source(ctx context.Context, id freshet.SourceID) (s Source, err error) {
	s.Revision, err = c.callIf(ctx, http.MethodGet, sourcePath(id), nil, 0, nil, &s)
	return s, err
}

// RemovedSource returns a source by its id that is no longer watched and whose
// history is kept.
func (c *Client) RemovedSource(ctx context.Context, id freshet.SourceID) (s Source, err error) {
	err = c.get(ctx, sourcePath(id), url.Values{"removed": {"true"}}, &s)
	return s, err
}

// Reveal returns a source by its id, watched or removed, with its whole URL.
func (c *Client) Reveal(ctx context.Context, id freshet.SourceID) (s Source, err error) {
	s.Revision, err = c.callIf(ctx, http.MethodGet, sourcePath(id), url.Values{"reveal": {"true"}}, 0, nil, &s)
	if errors.Is(err, freshet.ErrNotFound) {
		removed := c.get(ctx, sourcePath(id), url.Values{"reveal": {"true"}, "removed": {"true"}}, &s)
		if !errors.Is(removed, freshet.ErrNotFound) {
			err = removed
		}
	}
	return s, err
}

// Add watches a source and returns it as it was taken on.
func (c *Client) Add(ctx context.Context, n NewSource) (s Source, err error) {
	s.Revision, err = c.callIf(ctx, http.MethodPost, "/sources", nil, 0, n, &s)
	return s, err
}

// Edit patches the definition of a source, and returns the source as it is then.
func (c *Client) Edit(ctx context.Context, id freshet.SourceID, patch Patch) (s Source, err error) {
	return c.EditIf(ctx, id, 0, patch)
}

// EditIf is Edit if the source still has a revision. Otherwise the error is a
// freshet.ErrStale. A revision of zero is any.
func (c *Client) EditIf(ctx context.Context, id freshet.SourceID, revision int64, patch Patch) (s Source, err error) {
	s.Revision, err = c.callIf(ctx, http.MethodPatch, sourcePath(id), nil, revision, patch, &s)
	return s, err
}

// Remove stops watching a source. With purge all of its history is deleted,
// too.
func (c *Client) Remove(ctx context.Context, id freshet.SourceID, purge bool) error {
	return c.RemoveIf(ctx, id, 0, purge)
}

// RemoveIf is Remove if the source has a revision still. Otherwise the error is
// a freshet.ErrStale. A revision of zero is any.
func (c *Client) RemoveIf(ctx context.Context, id freshet.SourceID, revision int64, purge bool) error {
	q := query{}
	q.flag("purge", purge)
	_, err := c.callIf(ctx, http.MethodDelete, sourcePath(id), url.Values(q), revision, nil, nil)
	return err
}

// Confirm accepts the version of a source that is held as suspect, whichever it is if
// the number is zero, and returns the change that it is reported as.
func (c *Client) Confirm(ctx context.Context, id freshet.SourceID, number int) (change Change, err error) {
	q := query{}
	q.number("version", int64(number))
	err = c.call(ctx, http.MethodPost, sourcePath(id, "confirm"), url.Values(q), nil, &change)
	return change, err
}

// Poll asks for a poll of a source, to be made as soon as the budget and its
// host allow, and waits for its outcome. A wait of zero only asks.
func (c *Client) Poll(ctx context.Context, id freshet.SourceID, wait time.Duration) (a PollAnswer, err error) {
	err = c.call(ctx, http.MethodPost, sourcePath(id, "poll"), url.Values{"wait": {wait.String()}}, nil, &a)
	return a, err
}

// PollNow is Poll without regard to the source's min_gap.
func (c *Client) PollNow(ctx context.Context, id freshet.SourceID, wait time.Duration) (a PollAnswer, err error) {
	err = c.call(ctx, http.MethodPost, sourcePath(id, "poll"), url.Values{"wait": {wait.String()}, "now": {"true"}}, nil, &a)
	return a, err
}
